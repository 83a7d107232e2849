/** JSON values, including those that a model or a tool wrote as text. */
import { jsonAnswer } from "../agents/internal.ts"
import type { Json } from "../core/index.ts"

/** The list or object that the text contains; undefined if it contains none. */
export function jsonIn(text: string): Json | undefined {
  const value = jsonAnswer(text)?.value
  return typeof value === "object" && value !== null ? value : undefined
}

export function parseIfJson(value: Json): Json
export function parseIfJson(value: Json | undefined): Json | undefined
export function parseIfJson(value: Json | undefined): Json | undefined {
  return typeof value === "string" ? (jsonIn(value) ?? value) : value
}

/** A copy as the journal stores it. */
export function plainJson<T>(value: T): T {
  return JSON.parse(JSON.stringify(value)) as T
}
