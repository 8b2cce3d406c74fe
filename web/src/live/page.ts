// The page: puts the parts together, and decides when each is drawn. Motion follows the screen,
// numbers change four times a second, charts a few times a second and one per frame.

import "./live.css";
import { el } from "../page/dom";
import { FAULTS, FOOTER, LEGEND, LOOK } from "../words/live";
import { Api } from "./api";
import { Banner } from "./banner";
import { Connection } from "./connection";
import { consent } from "./consent";
import { Controls } from "./controls";
import { Header } from "./header";
import { Lane } from "./lane";
import { calm } from "./motion";
import { drawForPrint } from "./print";
import { type Fault, PROTOCOL } from "./protocol";
import { full, lateness, sentence, sentences } from "./say";
import { fromFragment, fromTogether, type Shared } from "./share";
import { Store } from "./store";
import { Timeline } from "./timeline";

const TILES_MS = 250;
const CHARTS_MS = 160;
/** Where drawing the charts is slow they are drawn less often: they get a sixth of the time. */
const CHARTS_SHARE = 6;
const SENTENCE_MS = 5000;

export async function mount(): Promise<void> {
  const app = document.getElementById("app");
  if (app === null) throw new Error("this page has lost its root");
  const banner = new Banner();
  const shared = await fromAddress(banner);
  const connection: Connection = new Connection(new Api(), {
    greeting: (greeting) => {
      if (greeting.protocol !== PROTOCOL)
        banner.complain({
          type: "error",
          message: FAULTS.version,
        });
      store.greet(greeting);
    },
    settings: (settings) => store.settle(settings),
    state: (state) => store.receive(state),
    opened: () => store.forget(),
    status: (status) => banner.show(status, connection),
    fault: (fault) => banner.complain(fault),
  });
  const store: Store = new Store(
    (command) => connection.command(command),
    (fault) => banner.complain(fault),
  );
  build(app, store, banner, () => connection.session);
  if (shared?.together !== undefined) connection.join(shared.together);
  // A link that is pasted into the same page.
  addEventListener("hashchange", async () => {
    const again = await fromAddress(banner);
    if (again?.together !== undefined) {
      connection.join(again.together);
      store.forget();
    }
    const { text, compare } = again?.scenario ?? {};
    if (text === undefined || !(await consent({ text, ...(compare === undefined ? {} : { compare }) }))) return;
    store
      .command({ do: "load", text })
      .then(() => (compare === undefined ? undefined : store.command({ do: "compare", set: compare })))
      .catch((fault: Fault) => banner.complain(fault));
  });
  if (shared?.scenario !== undefined && (await consent(shared.scenario))) connection.want(shared.scenario);
  await connection.run();
}

/** The scenario in the address, which is removed from it: the address would not follow changes. */
async function fromAddress(banner: Banner): Promise<{ scenario?: Shared; together?: string } | undefined> {
  const { hash } = location;
  if (hash === "") return undefined;
  history.replaceState(null, "", `${location.pathname}${location.search}`);
  try {
    const [scenario, together] = [await fromFragment(hash), fromTogether(hash)];
    return { ...(scenario === undefined ? {} : { scenario }), ...(together === undefined ? {} : { together }) };
  } catch {
    banner.complain({ type: "error", message: FAULTS.damagedLink });
    return undefined;
  }
}

function build(app: HTMLElement, store: Store, banner: Banner, session: () => string | undefined): void {
  const header = new Header(store, session);
  const timeline = new Timeline(store);
  // With the bar it stays in sight, wherever one looks.
  header.bar.append(timeline.root);
  const controls = new Controls(store);
  const stage = el("div", { class: "stage" });
  const figures = el("div", { class: "figures" });
  const late = el("p", { class: "late", role: "status" });
  const limit = el("p", { class: "late", role: "status" });
  const missed = el("p", { class: "missed" });
  const spoken = el("p", { class: "hidden", role: "status" });
  app.replaceChildren(
    header.root,
    header.bar,
    banner.root,
    el("main", {}, [
      el("div", { class: "stage-area" }, [late, limit, stage, el("p", { class: "key" }, legend())]),
      controls.root,
      el("div", { class: "figures-area" }, [lookAt(store), figures]),
    ]),
    el("footer", {}, [
      missed,
      el("p", {}, [
        FOOTER.keys,
        el("kbd", {}, [FOOTER.space]),
        FOOTER.freezes,
        el("kbd", {}, ["←"]),
        " ",
        el("kbd", {}, ["→"]),
        FOOTER.step,
      ]),
    ]),
    spoken,
  );

  const lanes: Lane[] = [];
  const arrange = (): void => {
    const wanted = store.shownSettings()?.lanes.length ?? 0;
    while (lanes.length > wanted) lanes.pop()?.dispose();
    while (lanes.length < wanted) {
      const lane = new Lane(store, lanes.length);
      lanes.push(lane);
      stage.append(lane.stage);
      figures.append(lane.figures);
    }
    document.body.classList.toggle("two", wanted > 1);
    for (const lane of lanes) lane.name(wanted < 2);
  };
  store.on("settings", arrange);
  drawForPrint(store, lanes);

  let dirty = true;
  const at = { tiles: 0, charts: 0, sentence: 0 };
  let spent = 0;
  store.on("state", () => {
    if (!store.isFrozen) dirty = true;
  });
  store.on("view", () => {
    arrange();
    controls.update();
    at.tiles = 0;
    at.charts = 0;
    spent = 0;
    dirty = true;
  });
  const frame = (now: number): void => {
    requestAnimationFrame(frame);
    const tick = dirty && now - at.tiles > TILES_MS;
    if (!calm() || tick) for (const lane of lanes) lane.network.draw();
    controls.draw(now);
    if (tick) {
      at.tiles = now;
      for (const lane of lanes) lane.tiles.update();
      const note = lateness(store.view().moments);
      if (late.textContent !== note) late.textContent = note;
      const reached = full(store.view().moments, store.greeting?.limits.downloads);
      if (limit.textContent !== reached) limit.textContent = reached;
      const { missed: count } = store.ring;
      missed.textContent = count === 0 ? "" : FOOTER.missed(count);
    }
    // Where drawing is slow, the last ones have their turn before the first are drawn again.
    if (
      dirty &&
      now - at.charts > Math.max(CHARTS_MS, CHARTS_SHARE * spent) &&
      lanes.every(({ charts }) => charts.done)
    ) {
      at.charts = now;
      dirty = false;
      spent = 0;
      for (const lane of lanes) lane.charts.ask();
    }
    const begun = performance.now();
    if (lanes.some(({ charts }) => charts.next())) spent += performance.now() - begun;
    const buckets = store.greeting?.delay_buckets;
    if (buckets !== undefined && now - at.sentence > SENTENCE_MS) {
      at.sentence = now;
      const { moments } = store.view();
      const words = sentences(buckets, moments);
      if (spoken.textContent !== words) spoken.textContent = words;
      for (const lane of lanes) lane.network.describe(sentence(buckets, moments, lane.lane));
    }
  };
  requestAnimationFrame(frame);
}

/** The meaning of the shapes in the picture. */
function legend(): (Node | string)[] {
  const word = (kind: string, text: string): HTMLElement =>
    el("span", {}, [el("i", { class: kind, "aria-hidden": "true" }), text]);
  return [
    word("packet", LEGEND.packet),
    word("marked", LEGEND.marked),
    word("dropped", LEGEND.dropped),
    el("span", {}, [LEGEND.note]),
  ];
}

/** How charts look back. */
function lookAt(store: Store): HTMLElement {
  const buttons = (label: string, options: [string, () => boolean, () => void][]): HTMLElement => {
    const all = options.map(([text, on, choose]) => {
      const button = el("button", { type: "button", "aria-pressed": String(on()) }, [text]);
      button.addEventListener("click", () => {
        choose();
        for (const one of all) one.button.setAttribute("aria-pressed", String(one.on()));
        store.tell("view");
      });
      return { button, on };
    });
    return el("div", { class: "look" }, [
      el("span", { class: "label" }, [label]),
      el(
        "div",
        { class: "segments", role: "group", "aria-label": label },
        all.map(({ button }) => button),
      ),
    ]);
  };
  return el("div", { class: "looks" }, [
    buttons(
      LOOK.window,
      [1, 5, 20].map((seconds) => [
        LOOK.windowChoice(seconds),
        () => store.window_s === seconds,
        () => (store.window_s = seconds),
      ]),
    ),
    buttons(LOOK.delayAxis, [
      [LOOK.logarithmic, () => store.log, () => (store.log = true)],
      [LOOK.linear, () => !store.log, () => (store.log = false)],
    ]),
    buttons(LOOK.rates, [
      [LOOK.clients, () => !store.each, () => (store.each = false)],
      [LOOK.flows, () => store.each, () => (store.each = true)],
    ]),
  ]);
}
