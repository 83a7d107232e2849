/** The colours of a picture, for readers with a light and with a dark screen. */

export type Theme = "auto" | "light" | "dark"

interface Palette {
  readonly paper: string
  readonly ink: string
  readonly muted: string
  readonly line: string
  readonly frame: string
  readonly error: string
  /** The fill and the border of each look that has a colour. */
  readonly looks: Readonly<Record<string, readonly [string, string]>>
}

const LIGHT: Palette = {
  paper: "#ffffff",
  ink: "#1f2328",
  muted: "#59636e",
  line: "#6e7781",
  frame: "#f6f8fa",
  error: "#cf222e",
  looks: {
    box: ["#f6f8fa", "#8c959f"],
    agent: ["#ddf4ff", "#0969da"],
    tool: ["#eef0fb", "#5a63c7"],
    human: ["#fbefff", "#8250df"],
    handoff: ["#e6fbf5", "#1b7c63"],
    state: ["#fff3e6", "#b35900"],
    workflow: ["#f6f8fa", "#57606a"],
    choice: ["#fff8c5", "#9a6700"],
    bar: ["#424a53", "#424a53"],
    mark: ["#dafbe1", "#1a7f37"],
    limit: ["#ffebe9", "#cf222e"],
  },
}

const DARK: Palette = {
  paper: "#0d1117",
  ink: "#e6edf3",
  muted: "#9198a1",
  line: "#8b949e",
  frame: "#151b23",
  error: "#ff7b72",
  looks: {
    box: ["#212830", "#656c76"],
    agent: ["#0c2d4d", "#4493f8"],
    tool: ["#1e2352", "#8f99f5"],
    human: ["#2f1d4d", "#ab7df8"],
    handoff: ["#0b3329", "#3fb598"],
    state: ["#3d2407", "#e09b13"],
    workflow: ["#212830", "#9198a1"],
    choice: ["#372a05", "#d29922"],
    bar: ["#c9d1d9", "#c9d1d9"],
    mark: ["#0f2d18", "#3fb950"],
    limit: ["#3d1214", "#f85149"],
  },
}

/** The rules for one theme, or for both with the reader's choice between them. */
export function styleSheet(theme: Theme): string {
  const fixed = [
    `.superstep text{font-family:system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif}`,
    ".superstep .t{font-size:13px;text-anchor:middle}",
    ".superstep .s{font-size:11px;text-anchor:middle}",
    ".superstep .h{font-size:13px;font-weight:600}",
    ".superstep .e,.superstep .n{fill:none;stroke-width:1.5}",
    ".superstep .n path,.superstep .n rect,.superstep .n polygon{stroke-width:1.5}",
    ".superstep .dashed,.superstep .error{stroke-dasharray:5 4}",
  ]
  const colours = theme === "dark" ? rules(DARK) : rules(LIGHT)
  const other = theme === "auto" ? [`@media(prefers-color-scheme:dark){${rules(DARK).join("")}}`] : []
  return [...fixed, ...colours, ...other].join("\n")
}

function rules({ paper, ink, muted, line, frame, error, looks }: Palette): string[] {
  return [
    `.superstep .p{fill:${paper}}`,
    `.superstep .q{fill:${frame}}`,
    `.superstep text{fill:${ink};stroke:none}`,
    `.superstep .s{fill:${muted}}`,
    `.superstep .e{stroke:${line}}`,
    `.superstep .a{fill:${line};stroke:none}`,
    `.superstep .e.error{stroke:${error}}`,
    `.superstep .a.error,.superstep .s.error{fill:${error}}`,
    `.superstep .frame{fill:${frame};stroke:${muted}}`,
    ...Object.entries(looks).map(
      ([name, [fill, stroke]]) => `.superstep .${name}{fill:${fill};stroke:${stroke}}`,
    ),
    `.superstep .bar .t{fill:${paper}}`,
  ]
}
