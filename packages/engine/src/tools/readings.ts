/**
 * What a text comes down to, however it is written. A rule that holds back is tried on every reading, and one that lets
 * pass must fit them all: so a roundabout way of writing makes nothing freer.
 */
import { posix } from "node:path"

export type Reading = "any" | "all"

/** The text itself, with its spaces collapsed, with its path or address resolved. */
function readings(text: string): readonly string[] {
  const plain = text.trim().replace(/\s+/g, " ")
  const resolved = /^[a-z][a-z\d+.-]*:\/\//i.test(plain) ? address(plain) : path(plain)
  return [text, plain, resolved]
}

export function fitsReadings(text: string, reading: Reading, fits: (one: string) => boolean): boolean {
  return reading === "any" ? readings(text).some(fits) : readings(text).every(fits)
}

/** Where it really goes: without a name before an `@`, and without the dot that a host may end in. */
function address(text: string): string {
  if (!URL.canParse(text)) return text
  const url = new URL(text)
  url.username = ""
  url.password = ""
  url.hostname = url.hostname.replace(/\.$/, "")
  return url.href === `${text}/` ? text : url.href
}

function path(text: string): string {
  return /\/\.{0,2}(\/|$)|^\.\//.test(text) ? posix.normalize(text) : text
}

const HARMLESS = /\d?>&\d|\d?>\s*\/dev\/null\b/g
const BETWEEN = /[;&|<>`()\n\r]/

/** The commands that a shell would run for a line, and the files that it would open. Too many rather than too few. */
export function commandsIn(line: string): readonly string[] {
  return line
    .replace(HARMLESS, " ")
    .split(BETWEEN)
    .map((command) => command.replace(/\$$/, "").trim())
    .filter((command) => command !== "")
}
