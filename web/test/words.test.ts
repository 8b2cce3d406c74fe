// What people read is in src/words, and lines are short enough to be read.
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { readable } from "./readable";

const web = fileURLToPath(new URL("..", import.meta.url));

/** The TypeScript in a folder of web/ and below it, by paths from web/. */
const sources = (folder: string): string[] =>
  readdirSync(web + folder, { recursive: true, encoding: "utf8" })
    .map((name) => `${folder}/${name.replace(/\\/g, "/")}`)
    .filter((name) => name.endsWith(".ts"));

const read = (name: string): string => readFileSync(web + name, "utf8");

const texts = (source: string): string[] => readable("a.ts", source).map(({ line, text }) => `${line}: ${text}`);

describe("text for people", () => {
  it("is in src/words and nowhere else", () => {
    const others = sources("src").filter((name) => !name.startsWith("src/words/"));
    expect(others).toContain("src/page/page.ts");
    const found = others.flatMap((name) =>
      readable(name, read(name)).map(({ line, text }) => `${name}:${line}: "${text}"`),
    );
    expect(found.join("\n")).toBe("");
  });

  it("comes without data: src/words takes values from src/words only", () => {
    const found = sources("src/words").flatMap((name) =>
      [...read(name).matchAll(/^import \{[^}]*\} from "\.\.\/.*$/gm)].map(([line]) => `${name}: ${line}`),
    );
    expect(found).toEqual([]);
  });

  it("is found where it stands", () => {
    expect(texts('const a = 1;\nconst note = "Further left is better.";')).toEqual(["2: Further left is better."]);
    expect(texts(`const note = \`\${n} packets\`;`)).toEqual(["1: … packets"]);
    expect(texts("const note = 'above ' + limit;")).toEqual(["1: above …"]);
    const tip = `const tip = \`<b class="big value">\${n} packets of \${more ? "each flow" : "all"}</b>\`;`;
    expect(texts(tip)).toEqual(['1: <b class="big value">… packets of …</b>', "1: each flow"]);
    expect(texts('throw new Refused("no such session");')).toEqual(["1: no such session"]);
  });

  it("is one word where a page shows it", () => {
    expect(texts('el("button", { type: "button", title: hint }, ["Close"]);')).toEqual(["1: Close"]);
    expect(texts('el("section", { class: "card", "aria-label": "Totals" });')).toEqual(["1: Totals"]);
    expect(texts('status.textContent = copied ? "Copied." : "";')).toEqual(["1: Copied."]);
    expect(texts('box.setAttribute("aria-label", "Past");')).toEqual(["1: Past"]);
    expect(texts('pen.fillText("Queue", 0, 0);')).toEqual(["1: Queue"]);
  });

  it("is not what programs read", () => {
    const source = `
      import { a } from "some module/with words";
      type Kind = "two words" | "three more words";
      const note = TABLE.scroll(title);
      const card = el("div", { class: "card wide", id: "a" + number }, [note, HEADER.share]);
      card.className = open ? "card open" : "card";
      card.style.cssText = "border: solid red";
      pen.font = \`600 \${size}px \${theme.font}\`;
      const inner = card.querySelector("details summary, table caption");
      const svg = \`<svg role="img" class="wide card" width="\${w}" \` + \`height="\${h}"><title>\${title}</title></svg>\`;
      if (inner === null) throw new Error("this page has lost its data");
    `;
    expect(texts(source)).toEqual([]);
  });
});

it("no line is longer than 140 characters", () => {
  const top = readdirSync(web, { withFileTypes: true });
  const folders = top.filter((entry) => entry.isDirectory() && entry.name !== "node_modules");
  const files = top.filter((entry) => entry.isFile() && entry.name.endsWith(".ts"));
  const names = [...files.map(({ name }) => name), ...folders.flatMap(({ name }) => sources(name))];
  expect(names).toContain("e2e/live.spec.ts");
  const long = names.flatMap((name) =>
    read(name)
      .split("\n")
      .flatMap((line, i) => (line.length > 140 ? [`${name}:${i + 1}: ${line.length}`] : [])),
  );
  expect(long.join("\n")).toBe("");
});
