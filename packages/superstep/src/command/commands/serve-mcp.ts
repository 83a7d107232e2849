/** `superstep serve mcp`: the workflows and agents of files as MCP tools, for a client that starts this process, or over HTTP. */
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import type { Workflow } from "@superstep/engine"
import { Command } from "commander"
import { type Cli, EXIT } from "../cli.ts"
import {
  complete,
  type DefinitionFlags,
  definitionFlags,
  modelFlag,
  type StoreFlags,
  storeFlags,
} from "../flags.ts"
import type { OpenedWorkflow } from "../open/opened-workflow.ts"
import { storeOf } from "../open/store.ts"
import { openWorkflow } from "../open/workflow.ts"
import { usageError } from "../print/errors.ts"
import { parsePort } from "../run/workflow-host.ts"
import { mcpPackage, type ServedTool } from "./mcp-package.ts"

interface ServeMcpFlags extends DefinitionFlags, StoreFlags {
  readonly port?: number | undefined
}

export function serveMcpCommand(cli: Cli): Command {
  const command = new Command("mcp")
    .description("serve workflows and agents as MCP tools, over stdin and stdout or HTTP")
    .argument("<files...>", "definitions or modules; of a file with agents only, each agent is a tool")
    .option(
      "--port <port>",
      "serve over HTTP on this port of this machine, under /mcp; 0 chooses a free one (default: stdio)",
      parsePort,
    )
    .action((files: readonly string[], flags: ServeMcpFlags) => serveMcp(cli, files, flags))
  return complete(
    command,
    [definitionFlags, modelFlag, storeFlags],
    "superstep serve mcp story.yaml",
    "Messages go to stdout, everything else to stderr. Runs are in the store: a question that the client does not show is answered with the tool answer_run, or with superstep respond. For other machines, with keys, use superstep serve: it has /mcp too.",
  )
}

async function serveMcp(cli: Cli, files: readonly string[], flags: ServeMcpFlags): Promise<void> {
  const mcp = await mcpPackage("superstep serve mcp")
  const store = await storeOf(cli, flags)
  const opened: OpenedWorkflow[] = []
  try {
    for (const file of files) {
      opened.push(
        await openWorkflow(file, cli, {
          flags: { ...flags, quiet: true },
          isScript: true,
          store: async () => store,
        }),
      )
    }
    const tools = opened.flatMap(toolsOf)
    const workflows = tools.map(({ workflow }) => workflow)
    checkNames(workflows)
    const { Runtime } = await import("@superstep/engine")
    const runtime = new Runtime({ store, workflows })
    try {
      const options = { workflows: tools, runtime, name: "superstep" }
      const names = workflows.map(({ name }) => name).join(", ")
      if (flags.port === undefined) {
        const { stdin: input, stdout: output } = cli.io
        const served = mcp.serveMcp(options, { transport: "stdio", input, output })
        cli.err.line(`Serving ${names} over stdio.`)
        const stopListening = cli.io.onInterrupt(() => void served.close())
        await served.closed
        stopListening()
      } else {
        const served = mcp.serveMcp(options, { transport: "http" })
        await onHttp(cli, flags.port, names, (request, response) => void served.handle(request, response))
        await served.close()
      }
    } finally {
      await runtime.close()
    }
  } finally {
    for (const { close } of opened) await close()
    await store.close()
  }
  cli.exit(EXIT.completed)
}

/**
 * A file with agents and no workflow offers each of them. Their runs have no labels of the file: it would be opened as its
 * first agent.
 */
function toolsOf({ workflow, definition, labels }: OpenedWorkflow): readonly ServedTool[] {
  if (definition?.dialect !== "agents") return [{ workflow: workflow as unknown as Workflow, labels }]
  return [...definition.agents.values()].map((agent) => ({ workflow: agent as unknown as Workflow }))
}

function checkNames(workflows: readonly Workflow[]): void {
  const names = workflows.map(({ name }) => name)
  const twice = names.find((name, i) => names.indexOf(name) !== i)
  if (twice !== undefined) throw usageError(`Two tools would be named "${twice}". Rename one of them.`)
}

/** Until the process is stopped. */
async function onHttp(
  cli: Cli,
  port: number,
  names: string,
  handle: (request: unknown, response: unknown) => void,
): Promise<void> {
  const server = createServer(handle)
  await new Promise<void>((resolve, reject) => {
    server.once("error", (error: { readonly code?: string }) => {
      const isTaken = error.code === "EADDRINUSE"
      reject(
        isTaken
          ? usageError(`Port ${port} is in use. Choose another with --port, or 0 for a free one.`)
          : error,
      )
    })
    server.listen(port, "127.0.0.1", resolve)
  })
  const { port: bound } = server.address() as AddressInfo
  cli.err.line(`Serving ${names} at http://127.0.0.1:${bound}/mcp`)
  await new Promise<void>((resolve) => {
    const stopListening = cli.io.onInterrupt(() => {
      stopListening()
      resolve()
    })
  })
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
}
