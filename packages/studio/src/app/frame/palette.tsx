/** ⌘K: any run, workflow, place or command by a few letters. */
import { type KeyboardEvent, useDeferredValue, useLayoutEffect, useMemo, useRef, useState } from "react"
import { useLocation } from "wouter"
import { useNewestRuns, useWorkflows } from "../api/queries.ts"
import { shortId } from "../ui/format.ts"
import { Icon, type IconName } from "../ui/icon.tsx"
import { StatusIcon, statusWord } from "../ui/status.tsx"
import { runHref } from "./address.ts"
import { DESTINATIONS } from "./destinations.ts"
import styles from "./palette.module.css"
import { type Entry, ranked } from "./palette-entries.ts"
import { switchTheme } from "./theme.ts"

const MAX_SHOWN = 16

interface Action extends Entry {
  readonly icon?: IconName
  readonly status?: string
  readonly run: () => void
}

export function Palette({ onClose }: { readonly onClose: () => void }) {
  const [, navigate] = useLocation()
  const [text, setText] = useState("")
  const [active, setActive] = useState(0)
  const dialog = useRef<HTMLDialogElement>(null)
  const words = useDeferredValue(text.trim())
  const { data: workflows = [] } = useWorkflows()
  const { data: runs = [] } = useNewestRuns(words === "" ? {} : { text: words }, 12)
  // Before the browser draws: what somebody types right after ⌘K is for the palette.
  useLayoutEffect(() => dialog.current?.showModal(), [])
  const go = (href: string) => () => navigate(href)
  // biome-ignore lint/correctness/useExhaustiveDependencies: `go` changes with every render, and always does the same
  const actions = useMemo((): readonly Action[] => {
    const fixed: Action[] = [
      ...DESTINATIONS.map(({ name, href, icon }) => ({
        id: href,
        title: name,
        about: "Go to",
        icon,
        run: go(href),
      })),
      {
        id: "theme",
        title: "Switch between light and dark",
        about: "Command",
        icon: "theme",
        run: switchTheme,
      },
      { id: "compare", title: "Compare two runs", about: "Command", icon: "compare", run: go("/compare") },
      ...workflows.flatMap(({ name }): Action[] => [
        {
          id: `start ${name}`,
          title: `Start ${name}`,
          about: "Workflow",
          icon: "play",
          run: go(`/workflows/${encodeURIComponent(name)}`),
        },
        {
          id: `runs ${name}`,
          title: `Runs of ${name}`,
          about: "Workflow",
          icon: "runs",
          run: go(`/runs?workflow=${encodeURIComponent(name)}`),
        },
      ]),
    ]
    const found: Action[] = runs.map(({ id, workflow, status }) => ({
      id: `run ${id}`,
      title: shortId(id),
      also: id,
      about: `${workflow}, ${statusWord(status)}`,
      status,
      run: go(runHref(id)),
    }))
    if (words === "") return [...found.slice(0, 6), ...fixed]
    // The server also finds runs by what the palette does not show.
    const others = found.filter((one) => ranked([one], words).length === 0)
    return [...ranked([...fixed, ...found], words), ...others].slice(0, MAX_SHOWN)
  }, [workflows, runs, words])
  const chosen = Math.min(active, actions.length - 1)
  const perform = (action: Action | undefined) => {
    if (action === undefined) return
    onClose()
    action.run()
  }
  const onKey = (event: KeyboardEvent) => {
    if (event.key === "ArrowDown") setActive(Math.min(actions.length - 1, chosen + 1))
    else if (event.key === "ArrowUp") setActive(Math.max(0, chosen - 1))
    else if (event.key === "Enter") perform(actions[chosen])
    else return
    event.preventDefault()
  }
  return (
    <dialog
      ref={dialog}
      className={styles.palette}
      aria-label="Search and commands"
      onClose={onClose}
      onCancel={onClose}
      onClick={(event) => event.target === dialog.current && onClose()}
    >
      <div className={styles.box}>
        <input
          className={styles.input}
          type="text"
          role="combobox"
          aria-expanded="true"
          aria-controls="palette-list"
          aria-activedescendant={actions[chosen] === undefined ? undefined : `palette-${chosen}`}
          aria-label="Search runs, workflows and commands"
          placeholder="Search runs, workflows and commands"
          value={text}
          spellCheck={false}
          onKeyDown={onKey}
          onInput={(event) => {
            setText(event.currentTarget.value)
            setActive(0)
          }}
        />
        <div id="palette-list" role="listbox" aria-label="Results" className={styles.list} tabIndex={-1}>
          {actions.map((action, index) => (
            <div
              key={action.id}
              id={`palette-${index}`}
              role="option"
              aria-selected={index === chosen}
              className={styles.entry}
              onMouseMove={() => setActive(index)}
              onClick={() => perform(action)}
            >
              {action.status === undefined ? (
                <Icon name={action.icon ?? "right"} />
              ) : (
                <StatusIcon status={action.status} />
              )}
              <span className={styles.title}>{action.title}</span>
              <span className={styles.about}>{action.about}</span>
            </div>
          ))}
          {actions.length === 0 && <p className={styles.none}>Nothing matches “{text}”.</p>}
        </div>
      </div>
    </dialog>
  )
}
