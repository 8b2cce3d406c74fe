// Widths of the printable ASCII characters in Roboto Medium, in thousandths of the font size, from
// the space on. Medium is the wider of the two cuts that pictures use: labels never collide.

export const ADVANCES = [
  249, 268, 324, 610, 568, 734, 639, 169, 349, 353, 442, 557, 220, 328, 279, 396, 568, 568, 568, 568,
  568, 568, 568, 568, 568, 568, 265, 238, 508, 560, 521, 486, 895, 666, 631, 653, 653, 565, 549, 681,
  710, 282, 555, 630, 541, 875, 710, 690, 639, 690, 624, 604, 607, 652, 647, 880, 633, 609, 602, 274,
  418, 274, 427, 451, 322, 541, 563, 523, 564, 537, 354, 567, 555, 255, 250, 522, 255, 870, 556, 569,
  563, 568, 352, 516, 333, 556, 495, 743, 503, 487, 503, 335, 251, 335, 665,
];

/** Any other character. */
export const OTHER = 560;
