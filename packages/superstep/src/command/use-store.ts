/** For commands that look at what is stored: they open it, and make none where there is none. */
import { existsSync } from "node:fs"
import type { Cli } from "./cli.ts"
import type { OutputFlags, StoreFlags } from "./common-flags.ts"
import { type OpenStore, openStore, storeAddress, storeNotices } from "./open-store.ts"

export async function useStore<T>(
  cli: Cli,
  flags: StoreFlags & Pick<OutputFlags, "quiet">,
  use: (store: OpenStore) => Promise<T>,
): Promise<T> {
  const address = storeAddress(flags.store, cli.io.cwd)
  const isMissing = address.path !== undefined && !existsSync(address.path)
  if (isMissing && !flags.quiet) {
    const { err } = cli
    err.line(err.paint.dim(`There is no store at ${address.url} yet. Another one is named with --store.`))
  }
  const store = await openStore(isMissing ? "memory:" : flags.store, cli.io.cwd, storeNotices(cli))
  try {
    return await use(store)
  } finally {
    await store.close()
  }
}
