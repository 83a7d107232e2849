/** docs/events.md is what the schemas say, and every event has its entry. */
import { readFileSync } from "node:fs"
import { runEvent } from "superstep/protocol"
import { expect, test } from "vitest"
import { eventReference, REFERENCE } from "../scripts/event-reference.mjs"

test("the committed event reference is up to date: run `npm run events`", () => {
  expect(readFileSync(REFERENCE, "utf8")).toBe(eventReference())
})

test("every event type has an entry with each of its fields", () => {
  const sections = eventReference().split(/^### /m)
  for (const { shape } of runEvent.def.options) {
    const type = shape.type.def.values[0]
    const section = sections.find((one) => one.startsWith(`\`${type}\``))
    expect(section, type).toBeDefined()
    for (const name of Object.keys(shape)) {
      if (["runId", "seq", "at", "path", "type"].includes(name)) continue
      expect(section, `${type}.${name}`).toMatch(new RegExp(`^\\| \`${name}\\??\` \\|`, "m"))
    }
  }
})
