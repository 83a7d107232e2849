import { describe, expect, it } from "vitest"
import { eventsOf, finished, spoke, started, type WrittenEvent } from "./events.test-support.ts"
import { spokenText } from "./spoken-text.ts"

function heard(...events: readonly WrittenEvent[]): string {
  let text = ""
  const spoken = spokenText((more) => {
    text += more
  })
  for (const event of eventsOf(...events)) spoken.event(event)
  return text
}

describe("what agents say", () => {
  it("is written as it comes, and ends with a line break", () => {
    expect(heard(spoke(1, "Hello", 0), spoke(1, " you", 5), finished(1, "n"))).toBe("Hello you\n")
  })

  it("is not torn where two talk at once: the second one waits until the first is done", () => {
    const both = [spoke(1, "one ", 0), spoke(2, "two ", 0), spoke(1, "one", 4), spoke(2, "two", 4)]
    expect(heard(...both)).toBe("one one")
    expect(heard(...both, finished(2, "n"))).toBe("one one")
    expect(heard(...both, finished(2, "n"), finished(1, "n"))).toBe("one one\ntwo two\n")
  })

  it("has nothing twice where a reply is tried again from its beginning", () => {
    expect(heard(spoke(1, "Hello", 0), spoke(1, "Hel", 0), spoke(1, "lo you", 3), finished(1, "n"))).toBe(
      "Hello you\n",
    )
  })

  it("has each turn of an agent on a line of its own", () => {
    expect(heard(spoke(1, "I look.", 0, "c1"), spoke(1, "Found.", 0, "c2"), finished(1, "n"))).toBe(
      "I look.\nFound.\n",
    )
  })

  it("is nothing if no agent spoke", () => {
    expect(heard(started(1, "n"), finished(1, "n"))).toBe("")
  })
})
