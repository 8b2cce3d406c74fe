// Figures follow the colour scheme that the reader chose on the page, not only that of the system. Every figure has
// a dark form beside it (scripts/figures.sh --files).
(() => {
    const show = () => {
        const dark = document.body.dataset.mdColorScheme === "slate";
        for (const source of document.querySelectorAll("picture > source")) {
            source.media = dark ? "all" : "not all";
        }
        for (const image of document.querySelectorAll(":not(picture) > img[src*='figures/']")) {
            const light = image.getAttribute("src").replace(/-dark(\.\w+)$/, "$1");
            image.src = dark ? light.replace(/(\.\w+)$/, "-dark$1") : light;
        }
    };
    show();
    new MutationObserver(show).observe(document.body, { attributeFilter: ["data-md-color-scheme"] });
})();
