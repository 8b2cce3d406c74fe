// The bundle of the live page.

import { mount } from "./page";

void mount();
