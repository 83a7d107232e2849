/** Texts that are JSON, most of them answers of models: what they name is looked for inside. */
import { jsonAnswer } from "../agents/json-answer.ts"
import type { Json } from "../core/index.ts"

type JsonObject = { readonly [name: string]: Json }

/** Undefined where the text is no JSON list or object. */
export function dataIn(text: string): Json | undefined {
  const value = jsonAnswer(text)?.value
  return typeof value === "object" && value !== null ? value : undefined
}

export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}

/** What is looked into: data, also where it is written as text. */
export function lookedInto(value: Json): Json
export function lookedInto(value: Json | undefined): Json | undefined
export function lookedInto(value: Json | undefined): Json | undefined {
  return typeof value === "string" ? (dataIn(value) ?? value) : value
}
