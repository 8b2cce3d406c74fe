// Takes the scenario along: as a link, as a file, as a command.

import { el } from "../page/dom";
import { SHARE } from "../words/live";
import { freshId } from "./field";
import { fragment, together } from "./share";
import type { Store } from "./store";

export function shareDialog(store: Store, session: string | undefined): void {
  const { settings } = store;
  if (settings === undefined) return;
  const title = el("h2", { id: freshId() }, [SHARE.title]);
  const said = el("p", { class: "about", role: "status" });
  const link = copyable(SHARE.link, "", said);
  const watch = copyable(
    SHARE.session,
    session === undefined ? "" : `${location.origin}${location.pathname}${together(session)}`,
    said,
  );
  // A scenario that is not bundled has no command: its file is below.
  const command = settings.command === undefined ? [] : [copyable(SHARE.command, settings.command, said).root];
  const file = new Blob([settings.text], { type: "application/toml" });
  const address = URL.createObjectURL(file);
  const name = `${settings.name.replace(/[^\w-]+/g, "-") || "scenario"}.toml`;
  const close = el("button", { type: "button" }, [SHARE.close]);
  const dialog = el("dialog", { class: "share", "aria-labelledby": title.id }, [
    title,
    link.root,
    watch.root,
    ...command,
    el("p", {}, [
      el("a", { class: "button", href: address, download: name }, [SHARE.download(name)]),
      " ",
      el("span", { class: "about" }, [SHARE.accepted]),
    ]),
    el("div", { class: "end" }, [said, close]),
  ]);
  close.addEventListener("click", () => dialog.close());
  dialog.addEventListener("close", () => {
    URL.revokeObjectURL(address);
    dialog.remove();
  });
  document.body.append(dialog);
  dialog.showModal();
  const compare = settings.lanes[1]?.set;
  fragment({ text: settings.text, ...(compare === undefined ? {} : { compare }) }).then(
    (hash) => {
      link.input.value = `${location.origin}${location.pathname}${hash}`;
    },
    (error: unknown) => {
      said.textContent = SHARE.noLink(error);
    },
  );
}

function copyable(label: string, value: string, said: HTMLElement): { root: HTMLElement; input: HTMLInputElement } {
  const id = freshId();
  const input = el("input", { id, type: "text", readonly: "", spellcheck: "false" });
  input.value = value;
  input.addEventListener("focus", () => input.select());
  const button = el("button", { type: "button" }, [SHARE.copy]);
  button.setAttribute("aria-label", SHARE.copyLabel(label));
  button.addEventListener("click", async () => {
    input.select();
    // Clipboards are for secure pages only: elsewhere the text is selected, ready to be copied.
    const copied = await (navigator.clipboard?.writeText(input.value) ?? Promise.reject(new Error())).then(
      () => true,
      () => document.execCommand("copy"),
    );
    said.textContent = copied ? SHARE.copied : SHARE.notCopied;
  });
  return {
    root: el("div", { class: "copyable" }, [el("label", { for: id }, [label]), el("div", {}, [input, button])]),
    input,
  };
}
