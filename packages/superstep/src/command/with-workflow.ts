/** FILE opened for a command and closed behind it, with the store that the command is given. */
import { existsSync } from "node:fs"
import type { Cli } from "./cli.ts"
import type { DefinitionFlags, OutputFlags, StoreFlags } from "./common-flags.ts"
import { type OpenStore, openStore, storeAddress, storeNotices } from "./open-store.ts"
import { type OpenedWorkflow, openWorkflow } from "./open-workflow.ts"

export interface UseOptions {
  readonly flags: DefinitionFlags & StoreFlags & Pick<OutputFlags, "quiet" | "json">
  /** The command is for scripts: no model stands in for one that lacks its key. */
  readonly isScript?: boolean | undefined
  /** False: nothing will be asked of a model. Default true. */
  readonly isRun?: boolean | undefined
}

/** The store is opened when it is asked for: a bad definition makes no file. */
export async function withWorkflow(
  source: string,
  cli: Cli,
  { flags, isRun, isScript }: UseOptions,
  use: (opened: OpenedWorkflow, store: () => Promise<OpenStore>) => Promise<void>,
): Promise<void> {
  let store: Promise<OpenStore> | undefined
  const opening = () => {
    store ??= openStore(flags.store, cli.io.cwd, storeNotices(cli))
    return store
  }
  try {
    const { path } = storeAddress(flags.store, cli.io.cwd)
    const known = () => (path !== undefined && existsSync(path) ? opening() : undefined)
    const opened = await openWorkflow(source, cli, { flags, isRun, isScript, store: known })
    try {
      await use(opened, opening)
    } finally {
      await opened.close()
    }
  } finally {
    await (await store)?.close()
  }
}
