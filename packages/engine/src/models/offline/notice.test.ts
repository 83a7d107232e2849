import { expect, test } from "vitest"
import { OFFLINE_NOTICE, showOfflineNotice } from "./offline-model.ts"

test("the notice is shown once, to a terminal and not to a pipe", () => {
  const written: string[] = []
  const write = (text: string | Uint8Array) => written.push(String(text)) > 0
  showOfflineNotice({ isTTY: false, write })
  expect(written).toEqual([])
  showOfflineNotice({ isTTY: true, write })
  showOfflineNotice({ isTTY: true, write })
  expect(written).toEqual([`${OFFLINE_NOTICE}\n`])
})
