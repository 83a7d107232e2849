/** What can be done with a run: cancel, retry, run again, fork, compare, delete, export, and the same as a command. */
import type { Run } from "@superstep/client"
import { useQueryClient } from "@tanstack/react-query"
import { useEffect, useRef, useState } from "react"
import { useLocation } from "wouter"
import { useMay, useMe } from "../api/queries.ts"
import { client, serverUrl } from "../api/session.ts"
import { runHref, useAddress } from "../frame/address.ts"
import { hasEnded } from "../runs/run-list.ts"
import { Button, IconButton } from "../ui/button.tsx"
import { copyText, download } from "../ui/copy.tsx"
import { Dialog } from "../ui/dialog.tsx"
import { toast, toastProblem } from "../ui/toast.tsx"
import { commandFor, curlFor, typescriptFor } from "./commands.ts"
import type { RunHistory } from "./history.ts"
import styles from "./run-actions.module.css"

interface RunActionsProps {
  readonly run: Run
  readonly history: RunHistory
  readonly isPast: boolean
}

export function RunActions({ run, history, isPast }: RunActionsProps) {
  const { id, status } = run
  const hasKey = useMe().data?.authenticated ?? false
  const started = { id, workflow: run.workflow, input: history.now.input, url: serverUrl, hasKey }
  const [, navigate] = useLocation()
  const [, setAddress] = useAddress()
  const cache = useQueryClient()
  const mayAct = useMay("operator")
  const [isBusy, setBusy] = useState(false)
  const [isMenuOpen, setMenuOpen] = useState(false)
  const [confirm, setConfirm] = useState<"cancel" | "delete">()
  const handle = client.get(id)

  const perform = async (work: () => Promise<void>) => {
    setBusy(true)
    setMenuOpen(false)
    setConfirm(undefined)
    try {
      await work()
      await cache.invalidateQueries()
    } catch (error) {
      toastProblem(error)
    }
    setBusy(false)
  }
  const create = (kind: "retry" | "rerun") =>
    perform(async () => {
      const created = await handle[kind]()
      toast(kind === "retry" ? "Retrying in a new run." : "Running again in a new run.")
      navigate(runHref(created.id))
    })
  const switchTo = (action: "pause" | "resume") =>
    perform(async () => {
      await client.request(`POST /v1/runs/{run}/${action}`, { path: { run: id }, body: {} })
      toast(action === "pause" ? "The run pauses: nothing new starts in it." : "The run continues.")
    })
  const canRetry = status === "failed" || status === "limit"
  const items: readonly (readonly [label: string, run: () => void, needsRole: boolean])[] = [
    ["Run again from the start", () => void create("rerun"), true],
    ["Compare with another run", () => navigate(`/compare?a=${encodeURIComponent(id)}`), false],
    ["Copy the link", () => void copyText(window.location.href, "the link"), false],
    ["Copy as curl", () => void copyText(curlFor(started), "the command"), false],
    ["Copy as TypeScript", () => void copyText(typescriptFor(started), "the code"), false],
    ["Copy as a command", () => void copyText(commandFor(started), "the command"), false],
    [
      "Export as a test",
      () => void perform(async () => await (await import("./export/export-run.ts")).exportTest(run)),
      false,
    ],
    [
      "Export as one HTML file",
      () => void perform(async () => await (await import("./export/export-run.ts")).exportPage(run, history)),
      false,
    ],
    [
      "Export as a fixture",
      () =>
        void perform(async () => {
          const { data } = await client.request("GET /v1/runs/{run}/export", { path: { run: id } })
          download(`${id}.fixture.json`, JSON.stringify(data, undefined, 1))
        }),
      false,
    ],
    ...(hasEnded(run) ? ([["Delete…", () => setConfirm("delete"), true]] as const) : []),
  ]
  return (
    <>
      {mayAct && canRetry && !isPast && (
        <Button look="primary" icon="loop" isBusy={isBusy} onClick={() => void create("retry")}>
          Retry
        </Button>
      )}
      {mayAct && status === "paused" && (
        <Button look="primary" icon="play" isBusy={isBusy} onClick={() => void switchTo("resume")}>
          Resume
        </Button>
      )}
      {mayAct && (status === "running" || status === "waiting" || status === "queued") && (
        <Button icon="pause" isBusy={isBusy} onClick={() => void switchTo("pause")}>
          Pause
        </Button>
      )}
      {mayAct && !hasEnded(run) && (
        <Button look="danger" icon="stop" isBusy={isBusy} onClick={() => setConfirm("cancel")}>
          Cancel
        </Button>
      )}
      {mayAct && (
        <Button icon="fork" onClick={() => setAddress({ fork: "1" })}>
          Fork
        </Button>
      )}
      <span className={styles.anchor}>
        <IconButton
          icon="more"
          label="More actions"
          aria-expanded={isMenuOpen}
          aria-haspopup="menu"
          onClick={() => setMenuOpen(!isMenuOpen)}
        />
        {isMenuOpen && (
          <Menu
            items={items.filter(([, , needsRole]) => !needsRole || mayAct)}
            onClose={() => setMenuOpen(false)}
          />
        )}
      </span>
      {confirm !== undefined && (
        <Dialog
          title={confirm === "cancel" ? "Cancel this run?" : "Delete this run?"}
          onClose={() => setConfirm(undefined)}
          footer={
            <>
              <Button onClick={() => setConfirm(undefined)}>Keep it</Button>
              <Button
                look="danger"
                onClick={() =>
                  void perform(async () => {
                    if (confirm === "cancel") {
                      const { status: now } = await handle.cancel()
                      toast(
                        now === "cancelling"
                          ? "The process that executes the run will cancel it."
                          : "Cancelled.",
                      )
                    } else {
                      await handle.remove()
                      navigate("/runs")
                    }
                  })
                }
              >
                {confirm === "cancel" ? "Cancel the run" : "Delete the run"}
              </Button>
            </>
          }
        >
          {confirm === "cancel"
            ? "Tasks that execute are aborted, and open questions are withdrawn. A cancelled run cannot continue, but it can be forked."
            : "Its journal, its events and its answers are gone for good."}
        </Dialog>
      )}
    </>
  )
}

interface MenuProps {
  readonly items: readonly (readonly [label: string, run: () => void, needsRole: boolean])[]
  readonly onClose: () => void
}

function Menu({ items, onClose }: MenuProps) {
  const list = useRef<HTMLDivElement>(null)
  useEffect(() => {
    list.current?.querySelector("button")?.focus()
    const close = (event: Event) => {
      if (!(event.target instanceof Node && list.current?.contains(event.target))) onClose()
    }
    window.addEventListener("pointerdown", close)
    return () => window.removeEventListener("pointerdown", close)
  }, [onClose])
  return (
    <div
      ref={list}
      role="menu"
      tabIndex={-1}
      className={styles.menu}
      onKeyDown={(event) => {
        const buttons = [...(list.current?.querySelectorAll("button") ?? [])]
        const at = buttons.indexOf(document.activeElement as HTMLButtonElement)
        if (event.key === "Escape") onClose()
        else if (event.key === "ArrowDown") buttons[(at + 1) % buttons.length]?.focus()
        else if (event.key === "ArrowUp") buttons[(at - 1 + buttons.length) % buttons.length]?.focus()
        else return
        event.preventDefault()
        event.stopPropagation()
      }}
    >
      {items.map(([label, run]) => (
        <button
          key={label}
          type="button"
          role="menuitem"
          onClick={() => {
            onClose()
            run()
          }}
        >
          {label}
        </button>
      ))}
    </div>
  )
}
