// The bundle: `L4s.mount()` brings a page to life, `L4s.open(json)` draws without a browser.

export { mount } from "./page/page";
export { open } from "./ssr";
