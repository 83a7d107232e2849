/** The characters that a picture in a terminal is made of. */
import type { Arrow, Look } from "../picture.ts"
import type { Tone } from "./canvas.ts"

/** Corners from the upper left one clockwise, the level and the upright side, and a line that leaves below. */
export interface Border {
  readonly corners: string
  readonly level: string
  readonly upright: string
  readonly leave: string
}

/** Which ways a line goes on from a cell. */
export const NORTH = 1
export const EAST = 2
export const SOUTH = 4
export const WEST = 8

export interface Signs {
  /** By the sum of the ways. */
  readonly joints: string
  readonly dashed: { readonly level: string; readonly upright: string }
  readonly down: string
  readonly up: string
  readonly self: string
  readonly back: string
  readonly refer: string
  readonly chain: string
  readonly branch: string
  readonly lastBranch: string
  readonly bar: string
  readonly border: (look: Look | "frame") => Border
}

const BOX: Border = { corners: "┌┐┘└", level: "─", upright: "│", leave: "┬" }
const ROUND: Border = { corners: "╭╮╯╰", level: "─", upright: "│", leave: "┬" }
const DOUBLE: Border = { corners: "╔╗╝╚", level: "═", upright: "║", leave: "╤" }
const HEAVY: Border = { corners: "┏┓┛┗", level: "━", upright: "┃", leave: "┯" }
const PLAIN: Border = { corners: "++++", level: "-", upright: "|", leave: "+" }

const BORDERS: Partial<Record<Look | "frame", Border>> = { agent: ROUND, human: DOUBLE, frame: HEAVY }

export const UNICODE: Signs = {
  joints: " │─└││┌├─┘─┴┐┤┬┼",
  dashed: { level: "╌", upright: "╎" },
  down: "▼",
  up: "▲",
  self: "↺",
  back: "↺ back to",
  refer: "→",
  chain: "↓",
  branch: "├─",
  lastBranch: "└─",
  bar: "═",
  border: (look) => BORDERS[look] ?? BOX,
}

export const ASCII: Signs = {
  joints: " |-+||++-+-+++++",
  dashed: { level: ".", upright: ":" },
  down: "v",
  up: "^",
  self: "^",
  back: "^ back to",
  refer: "->",
  chain: "v",
  branch: "|-",
  lastBranch: "`-",
  bar: "=",
  border: () => PLAIN,
}

const TONES: Partial<Record<Look | "frame", Tone>> = {
  start: "green",
  output: "green",
  end: "green",
  limit: "red",
  agent: "cyan",
  tool: "blue",
  human: "magenta",
  choice: "yellow",
  bar: "yellow",
}

export function toneOf(look: Look | "frame"): Tone {
  return TONES[look] ?? "plain"
}

export function lineTone(style: Arrow["style"]): Tone {
  return style === "error" ? "red" : "dim"
}
