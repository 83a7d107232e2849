import { expect, test, vi } from "vitest"

test("the notice is shown once, to a terminal and not to a pipe", async () => {
  // A module of its own: another test of this worker may have shown the notice.
  vi.resetModules()
  const { OFFLINE_NOTICE, showOfflineNotice } = await import("./offline-model.ts")
  const written: string[] = []
  const write = (text: string | Uint8Array) => written.push(String(text)) > 0
  showOfflineNotice({ isTTY: false, write })
  expect(written).toEqual([])
  showOfflineNotice({ isTTY: true, write })
  showOfflineNotice({ isTTY: true, write })
  expect(written).toEqual([`${OFFLINE_NOTICE}\n`])
})
