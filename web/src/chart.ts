// The parts of Apache ECharts that we use, and no others: this keeps the bundle small.

import type { CustomSeriesOption, LineSeriesOption, ScatterSeriesOption } from "echarts/charts";
import { CustomChart, LineChart, ScatterChart } from "echarts/charts";
import type {
  GridComponentOption,
  LegendComponentOption,
  MarkAreaComponentOption,
  MarkLineComponentOption,
  TitleComponentOption,
  TooltipComponentOption,
} from "echarts/components";
import {
  GridComponent,
  LegendComponent,
  MarkAreaComponent,
  MarkLineComponent,
  TitleComponent,
  TooltipComponent,
} from "echarts/components";
import type { ComposeOption } from "echarts/core";
import * as echarts from "echarts/core";
import { SVGRenderer } from "echarts/renderers";

echarts.use([
  CustomChart,
  LineChart,
  ScatterChart,
  GridComponent,
  LegendComponent,
  MarkAreaComponent,
  MarkLineComponent,
  TitleComponent,
  TooltipComponent,
  SVGRenderer,
]);

export { echarts };

/** The options of our charts. */
export type Option = ComposeOption<
  | CustomSeriesOption
  | LineSeriesOption
  | ScatterSeriesOption
  | GridComponentOption
  | LegendComponentOption
  | MarkAreaComponentOption
  | MarkLineComponentOption
  | TitleComponentOption
  | TooltipComponentOption
>;

/** The single form of a field that an option takes alone or as a list. */
type One<T> = T extends readonly (infer U)[] ? U : T;

export type Title = TitleComponentOption;
export type Grid = GridComponentOption;
export type XAxis = One<NonNullable<Option["xAxis"]>>;
export type YAxis = One<NonNullable<Option["yAxis"]>>;
export type Series = CustomSeriesOption | LineSeriesOption | ScatterSeriesOption;
export type { CustomSeriesOption, LineSeriesOption, ScatterSeriesOption };
