/** PostgreSQL's values as JSON: numbers where they are exact, else the text that PostgreSQL writes. */
import type { Json } from "@superstep/engine"
import { exactNumber } from "./exact-number.ts"

const BOOL = 16
const INT8 = 20
const INT2 = 21
const INT4 = 23
const JSON_TYPE = 114
const FLOAT4 = 700
const FLOAT8 = 701
const NUMERIC = 1700
const JSONB = 3802

/** In the form in which `pg` asks for it. */
export const jsonValues = {
  getTypeParser: (type: number) => parsers[type] ?? ((text: string): Json => text),
}

const parsers: Readonly<Record<number, (text: string) => Json>> = {
  [BOOL]: (text) => text === "t",
  [INT2]: Number,
  [INT4]: Number,
  [INT8]: exactNumber,
  [NUMERIC]: exactNumber,
  [FLOAT4]: finiteNumber,
  [FLOAT8]: finiteNumber,
  [JSON_TYPE]: (text) => JSON.parse(text) as Json,
  [JSONB]: (text) => JSON.parse(text) as Json,
}

function finiteNumber(text: string): Json {
  const value = Number(text)
  return Number.isFinite(value) ? value : text
}
