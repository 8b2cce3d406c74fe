// Whether the viewer asked for less motion.

const asked = typeof matchMedia === "function" ? matchMedia("(prefers-reduced-motion: reduce)") : undefined;

export const calm = (): boolean => asked?.matches === true;
