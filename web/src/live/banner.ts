// The banner above all: no connection, a missing token, a fault that belongs to no field.

import { el } from "../page/dom";
import { BANNER, faultText } from "../words/live";
import type { Connection, Status } from "./connection";
import type { Fault } from "./protocol";

export class Banner {
  readonly root = el("div", { class: "banners" });
  private readonly status = el("div", { class: "banner", role: "status" });
  private readonly fault = el("div", { class: "banner wrong", role: "alert" });
  private lost = false;

  constructor() {
    this.status.hidden = true;
    this.fault.hidden = true;
    this.root.append(this.status, this.fault);
  }

  show(status: Status, connection: Connection): void {
    switch (status.is) {
      case "open":
        this.lost = false;
        this.status.hidden = true;
        break;
      case "connecting":
        if (!this.lost) break;
        this.status.replaceChildren(BANNER.trying);
        break;
      case "lost": {
        this.lost = true;
        const again = el("button", { type: "button" }, [BANNER.tryNow]);
        again.addEventListener("click", () => connection.now());
        this.status.hidden = false;
        this.status.replaceChildren(el("span", {}, [BANNER.lost(status.why)]), again);
        break;
      }
      case "locked":
        this.lost = true;
        this.status.hidden = false;
        this.status.replaceChildren(this.form(connection, status.wrong));
        break;
    }
  }

  complain({ message, help }: Fault): void {
    const close = el("button", { type: "button" }, [BANNER.close]);
    close.addEventListener("click", () => {
      this.fault.hidden = true;
    });
    this.fault.hidden = false;
    this.fault.replaceChildren(el("span", {}, [faultText(message, help)]), close);
  }

  private form(connection: Connection, wrong: boolean): HTMLElement {
    const input = el("input", { id: "token", type: "password", autocomplete: "off", required: "" });
    const form = el("form", {}, [
      el("label", { for: "token" }, [BANNER.token(wrong)]),
      input,
      el("button", { type: "submit" }, [BANNER.enter]),
    ]);
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      connection.unlockWith(input.value.trim());
    });
    return form;
  }
}
