/** Numbers, times and money as people read them. Pure: the current time is a parameter. */

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** 0.8 ms, 340 ms, 3.2 s, 4 min 10 s, 2 h 5 min, 3 d 4 h. */
export function duration(ms: number): string {
  if (!Number.isFinite(ms) || ms < 0) return "–"
  if (ms < 1) return "< 1 ms"
  if (ms < SECOND) return `${Math.round(ms)} ms`
  if (ms < 9_950) return `${(ms / SECOND).toFixed(1)} s`
  if (ms < MINUTE - SECOND / 2) return `${Math.round(ms / SECOND)} s`
  if (ms < HOUR - SECOND / 2) return two(Math.round(ms / SECOND), 60, "min", "s")
  if (ms < DAY - MINUTE / 2) return two(Math.round(ms / MINUTE), 60, "h", "min")
  return two(Math.round(ms / HOUR), 24, "d", "h")
}

/** The time since a start: 0 is a start, not a short time. */
export function offset(ms: number): string {
  return ms < 1 ? "0 ms" : duration(ms)
}

function two(total: number, base: number, large: string, small: string): string {
  const rest = total % base
  const first = `${Math.floor(total / base)} ${large}`
  return rest === 0 ? first : `${first} ${rest} ${small}`
}

/** "just now", "5 min ago", "in 2 h", and a date for what is more than a week away. */
export function relative(at: number, now: number): string {
  const distance = Math.abs(now - at)
  if (distance < 10 * SECOND) return "just now"
  if (distance > 7 * DAY) return day(at)
  const text =
    distance < MINUTE
      ? `${Math.floor(distance / SECOND)} s`
      : distance < HOUR
        ? `${Math.floor(distance / MINUTE)} min`
        : distance < DAY
          ? `${Math.floor(distance / HOUR)} h`
          : `${Math.floor(distance / DAY)} d`
  return at > now ? `in ${text}` : `${text} ago`
}

/** The local date and time to the millisecond, with the offset of its zone. */
export function exact(at: number): string {
  const date = new Date(at)
  const pad = (value: number, width = 2) => String(value).padStart(width, "0")
  const offset = -date.getTimezoneOffset()
  const zone = `${offset < 0 ? "−" : "+"}${pad(Math.floor(Math.abs(offset) / 60))}:${pad(Math.abs(offset) % 60)}`
  return `${day(at)} ${clock(at)}.${pad(date.getMilliseconds(), 3)} ${zone}`
}

export function day(at: number): string {
  const date = new Date(at)
  const pad = (value: number) => String(value).padStart(2, "0")
  return `${date.getFullYear()}-${pad(date.getMonth() + 1)}-${pad(date.getDate())}`
}

export function clock(at: number): string {
  const date = new Date(at)
  return [date.getHours(), date.getMinutes(), date.getSeconds()]
    .map((value) => String(value).padStart(2, "0"))
    .join(":")
}

/** As a field of the browser takes it, to the minute. */
export function localTime(at: number): string {
  return new Date(at - new Date(at).getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
}

/** Two significant digits under a cent, cents above. */
export function money(usd: number): string {
  if (usd === 0) return "$0"
  if (usd < 0.000_001) return "< $0.000001"
  if (usd < 0.01) return `$${usd.toFixed(Math.min(7, 1 - Math.floor(Math.log10(usd))))}`
  return `$${grouped(usd.toFixed(usd < 1 ? 3 : 2))}`
}

export function count(value: number): string {
  return grouped(String(Math.round(value * 1_000) / 1_000))
}

/** 1234.5 → 1,234.5. The first number that a browser formats by locale takes tens of milliseconds of a page's first paint. */
function grouped(digits: string): string {
  const [whole = "", fraction] = digits.split(".")
  const text = whole.replace(/\B(?=(?:\d{3})+$)/g, ",")
  return fraction === undefined ? text : `${text}.${fraction}`
}

/** 4.2k, 1.3M: where space is short. */
export function short(value: number): string {
  if (value < 1_000) return String(value)
  if (value < 999_500) return `${digits(value / 1_000)}k`
  return `${digits(value / 1_000_000)}M`
}

function digits(value: number): string {
  return value < 9.95 ? value.toFixed(1).replace(/\.0$/, "") : String(Math.round(value))
}

export function bytes(value: number): string {
  if (value < 1_000) return `${value} B`
  if (value < 1_000_000) return `${digits(value / 1_000)} kB`
  return `${digits(value / 1_000_000)} MB`
}

/** One task, 2 tasks. */
export function plural(value: number, word: string, words = `${word}s`): string {
  return `${count(value)} ${value === 1 ? word : words}`
}

/** Ids that programs chose stay; of random ones, what tells them apart. */
export function shortId(id: string): string {
  return /^[0-9a-f]{8}-[0-9a-f]{4}-/.test(id) ? `${id.slice(0, 4)}…${id.slice(-6)}` : id
}

/** One line of at most so many characters. */
export function line(text: string, max = 140): string {
  const flat = text.replace(/\s+/g, " ").trim()
  return flat.length > max ? `${flat.slice(0, max - 1)}…` : flat
}

/** A JSON value in a few words: text as it is, the rest as JSON. */
export function brief(value: unknown, max = 140): string {
  if (value === undefined) return ""
  if (typeof value === "string") return line(value.slice(0, max * 4), max)
  if (typeof value !== "object" || value === null) return String(value)
  return line(compact(value, max * 2), max)
}

/** JSON of a value that may be large: stops after about this many characters. */
function compact(value: unknown, room: number): string {
  if (typeof value === "string")
    return JSON.stringify(value.length > room ? `${value.slice(0, room)}…` : value)
  if (typeof value !== "object" || value === null) return String(JSON.stringify(value) ?? "null")
  const isList = Array.isArray(value)
  let text = ""
  for (const [key, one] of Object.entries(value)) {
    if (text.length > room) {
      text += ", …"
      break
    }
    const part = compact(one, room - text.length)
    text += `${text === "" ? "" : ", "}${isList ? part : `${key}: ${part}`}`
  }
  return isList ? `[${text}]` : `{ ${text} }`
}
