// The text of a PDF.
import { getDocument } from "pdfjs-dist/legacy/build/pdf.mjs";

/** Without white space, which a PDF does not keep at the ends of lines. */
export const squeeze = (text: string): string => text.replace(/\s+/g, "");

/** All text of all pages, squeezed. */
export async function pdfText(data: Buffer): Promise<string> {
  const document = await getDocument({ data: new Uint8Array(data) }).promise;
  let text = "";
  for (let i = 1; i <= document.numPages; i++) {
    const { items } = await (await document.getPage(i)).getTextContent();
    for (const item of items) if ("str" in item) text += item.str;
  }
  return squeeze(text);
}
