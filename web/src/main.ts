// The bundle: `L4s.mount()` brings a page to life, `L4s.open(json)` draws without a browser. The
// traffic lights have the same two.

export { mountLights } from "./lights/page";
export { openLights } from "./lights/picture";
export { mount } from "./page/page";
export { open } from "./ssr";
