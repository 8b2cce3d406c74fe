// A scenario in the address may be anybody's: any page can lead here. It is shown, and runs when the
// viewer says so.

import { el } from "../page/dom";
import { CONSENT } from "../words/live";
import { freshId } from "./field";
import type { Shared } from "./share";

let asking: HTMLDialogElement | undefined;

/** Asks whether the viewer accepts this scenario. A later question replaces this one. */
export function consent({ text, compare }: Shared): Promise<boolean> {
  asking?.close();
  const title = el("h2", { id: freshId() }, [CONSENT.title]);
  const run = el("button", { type: "button" }, [CONSENT.run]);
  const leave = el("button", { type: "button" }, [CONSENT.leave]);
  const keys = Object.entries(compare ?? {}).map(([key, value]) => `${key} = ${value}`);
  const dialog = el("dialog", { class: "consent", "aria-labelledby": title.id }, [
    title,
    el("p", {}, [CONSENT.about]),
    el("pre", { tabindex: "0", "aria-label": CONSENT.scenario }, [text]),
    ...(keys.length === 0 ? [] : [el("p", {}, [CONSENT.beside(keys)])]),
    el("div", { class: "end" }, [leave, run]),
  ]);
  asking = dialog;
  return new Promise((resolve) => {
    let wanted = false;
    run.addEventListener("click", () => {
      wanted = true;
      dialog.close();
    });
    leave.addEventListener("click", () => dialog.close());
    dialog.addEventListener("close", () => {
      dialog.remove();
      if (asking === dialog) asking = undefined;
      resolve(wanted);
    });
    document.body.append(dialog);
    dialog.showModal();
    // Enter that is meant for something else runs nothing.
    leave.focus();
  });
}
