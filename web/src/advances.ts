// Widths of the printable ASCII characters, in thousandths of the font size, from the space on. A viewer
// has Roboto, or another font: each width is the wider of Roboto Medium's and
// that of DejaVu Sans, the widest of the fonts that systems take for sans-serif. So labels never
// collide, on any of them.

const REGULAR = [
  318, 401, 460, 838, 637, 951, 780, 275, 391, 391, 500, 838, 318, 361, 318, 413, 637, 637, 637, 637, 637, 637, 637,
  637, 637, 637, 337, 337, 838, 838, 838, 531, 1000, 685, 687, 699, 771, 632, 576, 775, 752, 295, 556, 656, 558, 876,
  749, 788, 640, 788, 695, 635, 611, 732, 685, 989, 686, 611, 686, 391, 418, 391, 838, 500, 500, 613, 635, 550, 635,
  616, 355, 635, 634, 278, 278, 580, 278, 975, 634, 612, 635, 635, 412, 521, 393, 634, 592, 818, 592, 592, 525, 637,
  337, 637, 838,
];

/** From a weight of 600 on: Roboto Medium and DejaVu Sans Bold. */
const BOLD = [
  349, 457, 521, 838, 696, 1002, 873, 307, 458, 458, 523, 838, 380, 416, 380, 396, 696, 696, 696, 696, 696, 696, 696,
  696, 696, 696, 400, 400, 838, 838, 838, 581, 1000, 774, 763, 734, 831, 684, 684, 821, 837, 373, 556, 775, 638, 996,
  837, 851, 733, 851, 771, 721, 683, 813, 774, 1104, 771, 725, 726, 458, 418, 458, 838, 500, 500, 675, 716, 593, 716,
  679, 436, 716, 712, 343, 343, 666, 343, 1042, 712, 688, 716, 716, 494, 596, 479, 712, 652, 924, 646, 652, 583, 712,
  366, 712, 838,
];

/** Any other character: signs of arithmetic, Greek, dashes. */
const OTHER = 840;

/** How wide text is in the widest font that a reader may have. */
export function advance(text: string, size: number, bold = false): number {
  const widths = bold ? BOLD : REGULAR;
  let sum = 0;
  for (const c of text) sum += widths[c.charCodeAt(0) - 32] ?? OTHER;
  return (sum * size) / 1000;
}
