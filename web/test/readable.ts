// Which literals of a source people read. Those for programs (modules, classes, styles, markup, messages of
// exceptions) have other places in the source.
import ts from "typescript";

/** A literal that people read, and its line in the file. */
export interface Readable {
  line: number;
  text: string;
}

/** Stands for a value in a template or in a sum of strings. */
const VALUE = "\uFFFC";

/** Two words, or a word beside a value. */
const WORDS = /\p{L}[.,:;]? [\p{L}\uFFFC]|\uFFFC[.,:;]? \p{L}/u;

/** Properties and attributes with values for programs. */
const CODE = new Set([
  "class",
  "className",
  "cssText",
  "extraCssText",
  "font",
  "id",
  "stack",
  "style",
  "Authorization",
  "aria-describedby",
]);

/** Functions with arguments for programs. */
const CALLS = new Set([
  "add",
  "closest",
  "get",
  "has",
  "matchMedia",
  "matches",
  "querySelector",
  "querySelectorAll",
  "remove",
  "toggle",
]);

/** Functions that show their arguments: here a single word is one to read. */
const DRAWN = new Set(["append", "fillText", "replaceChildren"]);

/** Properties and attributes that a page shows: here a single word is one to read. */
const SHOWN = new Set(["aria-label", "aria-valuetext", "label", "note", "placeholder", "textContent", "title", "unit"]);

/** The literals of a file that people read: of two words or more, and of one where a page shows it. */
export function readable(file: string, source: string): Readable[] {
  const tree = ts.createSourceFile(file, source, ts.ScriptTarget.Latest, true);
  const found: Readable[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node) || ts.isTypeNode(node)) return;
    if (isForDevelopers(node)) return;
    const parts = partsOf(node);
    if (parts === undefined) {
      ts.forEachChild(node, visit);
      return;
    }
    const text = parts.map((part) => (typeof part === "string" ? part : VALUE)).join("");
    const words = withoutMarkup(text);
    const [place, name] = placeOf(node);
    const isRead = WORDS.test(words) || (/\p{L}/u.test(words) && (place === "child" || SHOWN.has(name)));
    if (isRead && place !== "argument" && !CODE.has(name)) {
      const { line } = tree.getLineAndCharacterOfPosition(node.getStart(tree));
      found.push({ line: line + 1, text: text.split(VALUE).join("…") });
    }
    for (const part of parts) if (typeof part !== "string") visit(part);
  };
  visit(tree);
  return found;
}

/** A plain exception, which a console shows and a page does not. */
const isForDevelopers = (node: ts.Node): boolean =>
  ts.isThrowStatement(node) &&
  ts.isNewExpression(node.expression) &&
  ts.isIdentifier(node.expression.expression) &&
  node.expression.expression.text === "Error";

/** The texts and the values of a literal, a template, or a sum that has one of them. */
function partsOf(node: ts.Node): (string | ts.Node)[] | undefined {
  if (ts.isStringLiteralLike(node)) return [node.text];
  if (ts.isTemplateExpression(node))
    return [node.head.text, ...node.templateSpans.flatMap((span) => [span.expression, span.literal.text])];
  if (!ts.isBinaryExpression(node) || node.operatorToken.kind !== ts.SyntaxKind.PlusToken) return undefined;
  const [left, right] = [partsOf(node.left), partsOf(node.right)];
  return left === undefined && right === undefined ? undefined : [...(left ?? [node.left]), ...(right ?? [node.right])];
}

/** Text outside of tags, also where a literal begins or ends inside one. */
const withoutMarkup = (text: string): string =>
  text.replace(/<\/?[a-z!][^<>]*>/gi, "").replace(/^[^<>]*[="][^<>]*>|<\/?[a-z][^<>]*$/gi, "");

/** Where the value goes: a child of an element, an argument of `CALLS`, or a property with its name. */
function placeOf(node: ts.Node): ["child" | "argument" | "property" | "other", string] {
  const { parent } = node;
  if (ts.isParenthesizedExpression(parent) || ts.isAsExpression(parent) || ts.isSpreadElement(parent))
    return placeOf(parent);
  if (ts.isConditionalExpression(parent) && parent.condition !== node) return placeOf(parent);
  if (ts.isTemplateSpan(parent)) return placeOf(parent.parent);
  if (ts.isBinaryExpression(parent)) {
    const { kind } = parent.operatorToken;
    if (kind === ts.SyntaxKind.QuestionQuestionToken || kind === ts.SyntaxKind.PlusToken) return placeOf(parent);
    if (kind === ts.SyntaxKind.EqualsToken && ts.isPropertyAccessExpression(parent.left))
      return ["property", parent.left.name.text];
  }
  if (ts.isPropertyAssignment(parent) && parent.initializer === node)
    return ["property", ts.isComputedPropertyName(parent.name) ? "" : parent.name.text];
  if (ts.isArrayLiteralExpression(parent) && ts.isCallExpression(parent.parent)) {
    const { expression, arguments: all } = parent.parent;
    if (ts.isIdentifier(expression) && expression.text === "el" && all[2] === parent) return ["child", ""];
  }
  if (ts.isCallExpression(parent)) {
    const { expression, arguments: all } = parent;
    const name = ts.isIdentifier(expression)
      ? expression.text
      : ts.isPropertyAccessExpression(expression)
        ? expression.name.text
        : "";
    if (DRAWN.has(name)) return ["child", ""];
    const [first] = all;
    if (CALLS.has(name)) return ["argument", name];
    if (name === "setAttribute" && first !== undefined && first !== node && ts.isStringLiteral(first))
      return ["property", first.text];
  }
  return ["other", ""];
}
