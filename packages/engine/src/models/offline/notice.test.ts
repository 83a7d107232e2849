import { expect, test } from "vitest"
import { OFFLINE_NOTICE, tellOffline } from "./notice.ts"

test("a person at a terminal is told once what answers; a pipe is not", () => {
  const written: string[] = []
  const write = (text: string | Uint8Array) => written.push(String(text)) > 0
  tellOffline({ isTTY: false, write })
  expect(written).toEqual([])
  tellOffline({ isTTY: true, write })
  tellOffline({ isTTY: true, write })
  expect(written).toEqual([`${OFFLINE_NOTICE}\n`])
})
