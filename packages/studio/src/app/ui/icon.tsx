/** Line icons on a grid of 16, drawn with the colour of the text around them. They repeat a word nearby: hidden from readers. */

const PATHS = {
  home: "M2.5 7.5 8 3l5.5 4.5M4 6.5V13h8V6.5",
  runs: "M2.5 4h11M2.5 8h11M2.5 12h7",
  inbox: "M2.5 3.5h11v9h-11zM2.5 9h3l1 1.5h3l1-1.5h3",
  workflows: "M2.5 2.5h4v4h-4zM9.5 9.5h4v4h-4zM6.5 4.5H11a.5.5 0 0 1 .5.5v4.5",
  schedules: "M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12zM8 4.5V8l2.5 1.5",
  costs: "M2.5 13.5h11M4.5 11V8M8 11V4M11.5 11V6.5",
  knowledge: "M3 3.5A1.5 1.5 0 0 1 4.5 2H13v10H4.5A1.5 1.5 0 0 0 3 13.5zM3 13.5A1.5 1.5 0 0 0 4.5 14H13",
  settings: "M2.5 4.5h6M11.5 4.5h2M2.5 11.5h2M7.5 11.5h6M10 3v3M6 10v3",
  search: "M7 11.5a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9zM10.5 10.5 14 14",
  theme: "M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12zM8 2v12",
  check: "M3 8.5 6.5 12 13 4.5",
  cross: "M4 4l8 8M12 4l-8 8",
  play: "M5 3.5v9l7-4.5z",
  pause: "M5 3.5v9M11 3.5v9",
  first: "M4 3.5v9M12 3.5 6 8l6 4.5z",
  last: "M12 3.5v9M4 3.5 10 8l-6 4.5z",
  back: "M11 3.5 5 8l6 4.5z",
  next: "M5 3.5 11 8l-6 4.5z",
  right: "M6 4l4 4-4 4",
  down: "M4 6l4 4 4-4",
  copy: "M5.5 5.5v-3h8v8h-3M2.5 5.5h8v8h-8z",
  fork: "M4.5 5.5v5M4.5 5.5a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3zM4.5 13.5a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3zM11.5 5.5a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3zM11.5 5.5c0 3-7 2-7 5",
  compare: "M8 2v12M2.5 4.5h3v7h-3zM10.5 4.5h3v7h-3z",
  person: "M8 7.5A2.5 2.5 0 1 0 8 2.5a2.5 2.5 0 0 0 0 5zM3 13.5c0-2.5 2-4 5-4s5 1.5 5 4",
  spark: "M8 2l1.4 4.6L14 8l-4.6 1.4L8 14l-1.4-4.6L2 8l4.6-1.4z",
  tool: "M13 4.5 10.5 7 9 5.5 11.5 3A3.5 3.5 0 0 0 7 7.5L2.5 12 4 13.5 8.500 9A3.500 3.500 0 0 0 13 4.500z",
  box: "M3 4.500h10v7H3z",
  choice: "M8 2.500 13.500 8 8 13.500 2.500 8z",
  loop: "M12.500 6A5 5 0 1 0 13 9M13 3v3h-3",
  many: "M4.500 4.500h9v6h-9zM2.500 6.500v6h9",
  nested: "M2.500 2.500h11v11h-11zM5.500 5.500h5v5h-5z",
  clock: "M8 13.500A5.500 5.500 0 1 0 8 2.500a5.500 5.500 0 0 0 0 11zM8 5v3l2 1",
  alert: "M8 2.500 14 13H2zM8 6.500v3M8 11.300v.2",
  stop: "M4.500 4.500h7v7h-7z",
  dash: "M4 8h8",
  plus: "M4 8h8M8 4v8",
  ring: "M8 13.500A5.500 5.500 0 1 0 8 2.500a5.500 5.500 0 0 0 0 11z",
  download: "M8 2.500v7.500M4.500 7 8 10.500 11.500 7M3 13.500h10",
  filter: "M2.500 3.500h11L9.500 8.500v4l-3 1v-5z",
  lock: "M4 7.500h8v6H4zM5.500 7.500V5a2.500 2.500 0 0 1 5 0v2.500",
  chat: "M2.500 3.500h11v7.500H7l-3 2.500v-2.500H2.500z",
  fit: "M2.500 6V2.500H6M10 2.500h3.500V6M13.500 10v3.500H10M6 13.500H2.500V10",
  undo: "M6 4 3 7l3 3M3 7h6.5a3.5 3.500 0 0 1 0 7H7",
  redo: "M10 4l3 3-3 3M13 7H6.500a3.500 3.500 0 0 0 0 7H9",
  more: "M4 8h.01M8 8h.01M12 8h.01",
} as const

export type IconName = keyof typeof PATHS

export function Icon({ name, size = 16 }: { readonly name: IconName; readonly size?: number }) {
  return (
    <svg
      aria-hidden="true"
      focusable="false"
      width={size}
      height={size}
      viewBox="0 0 16 16"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.5"
      strokeLinecap="round"
      strokeLinejoin="round"
    >
      <path d={PATHS[name]} />
    </svg>
  )
}
