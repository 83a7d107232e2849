import { expect, test } from "vitest"
import { OFFLINE_NOTICE, tellOnce } from "./notice.ts"

test("a person at a terminal is told once what answers; a pipe is not", () => {
  const written: string[] = []
  const write = (text: string | Uint8Array) => written.push(String(text)) > 0
  tellOnce({ isTTY: false, write })
  expect(written).toEqual([])
  tellOnce({ isTTY: true, write })
  tellOnce({ isTTY: true, write })
  expect(written).toEqual([`${OFFLINE_NOTICE}\n`])
})
