import { expect, test } from "vitest"

test("the notice is shown once, to a terminal and not to a pipe", async () => {
  // The query makes it another module: another test file of this process may have shown the notice.
  const path = "./offline-model.ts?copy"
  const copy: typeof import("./offline-model.ts") = await import(/* @vite-ignore */ path)
  const { OFFLINE_NOTICE, showOfflineNotice } = copy
  const written: string[] = []
  const write = (text: string | Uint8Array) => written.push(String(text)) > 0
  showOfflineNotice({ isTTY: false, write })
  expect(written).toEqual([])
  showOfflineNotice({ isTTY: true, write })
  showOfflineNotice({ isTTY: true, write })
  expect(written).toEqual([`${OFFLINE_NOTICE}\n`])
})
