/** The `format` of a string: how to tell it, how to find one in a text, and one that stands in when there is none. */

interface Format {
  readonly test: RegExp
  /** Finds one inside a text. */
  readonly find: RegExp
  readonly standIn: string
}

const DAY = String.raw`\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])`
const CLOCK = String.raw`(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,9})?`
const ZONE = String.raw`(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)`
const EMAIL = String.raw`[A-Za-z0-9][A-Za-z0-9._%+-]{0,63}@[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*\.[A-Za-z]{2,24}`
const UUID = "[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}"
const BYTE = String.raw`(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)`
const HOST = String.raw`[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?)+`

function format(source: string, standIn: string, find = `(?<![\\w.])${source}(?![\\w])`): Format {
  return { test: new RegExp(`^${source}$`), find: new RegExp(find, "g"), standIn }
}

const URI = format(
  String.raw`[A-Za-z][A-Za-z0-9+.-]{1,20}:(?:\/\/)?[A-Za-z0-9\-._~:/?#[\]@!$&'()*+,;=%]+`,
  "https://example.com/",
  String.raw`https?:\/\/[^\s<>"'\x60)\]}]*[\w/]`,
)

const FORMATS: Readonly<Record<string, Format>> = {
  date: format(DAY, "1970-01-01"),
  "date-time": format(`${DAY}[Tt ]${CLOCK}${ZONE}`, "1970-01-01T00:00:00Z"),
  time: format(`${CLOCK}${ZONE}`, "00:00:00Z"),
  duration: format(
    String.raw`P(?:\d+W|(?=\d|T\d)(?:\d+Y)?(?:\d+M)?(?:\d+D)?(?:T(?=\d)(?:\d+H)?(?:\d+M)?(?:\d+S)?)?)`,
    "P1D",
  ),
  email: format(EMAIL, "unknown@example.com"),
  hostname: format(HOST, "example.com"),
  ipv4: format(String.raw`${BYTE}(?:\.${BYTE}){3}`, "192.0.2.1"),
  ipv6: format("(?:[0-9a-fA-F]{0,4}:){2,7}[0-9a-fA-F]{0,4}", "2001:db8::1"),
  uuid: format(UUID, "00000000-0000-4000-8000-000000000000"),
  uri: URI,
  url: URI,
  "uri-reference": URI,
  iri: URI,
}

export function fitsFormat(name: string, value: string): boolean {
  const known = formatOf(name)
  if (known === undefined) return true
  return known.test.test(value) && (!name.startsWith("date") || isRealDay(value))
}

export function standInFor(name: string): string | undefined {
  return formatOf(name)?.standIn
}

export function findFormat(name: string, text: string): string[] {
  const known = formatOf(name)
  if (known === undefined) return []
  return (text.match(known.find) ?? []).filter((found) => fitsFormat(name, found))
}

function formatOf(name: string): Format | undefined {
  return Object.hasOwn(FORMATS, name) ? FORMATS[name] : undefined
}

/** The thirtieth of February is none. */
function isRealDay(value: string): boolean {
  const [year = 0, month = 0, day = 0] = value.slice(0, 10).split("-").map(Number)
  return new Date(Date.UTC(year, month - 1, day)).getUTCDate() === day
}
