/** A JSON value as a tree: folded where it is large, searchable, to copy and to download. */
import { type KeyboardEvent, useMemo, useRef, useState } from "react"
import { IconButton } from "./button.tsx"
import { Copy, download } from "./copy.tsx"
import { SearchInput } from "./field.tsx"
import { bytes, count } from "./format.ts"
import { firstOpen, PAGE, rowsOf, search, type TreeRow, type TreeState } from "./json-tree.ts"
import styles from "./json-view.module.css"

const LONG_TEXT = 600
const MAX_ROWS = 1_000
/** Text that is quicker to select than to find a button for. */
const SHORT_TEXT = 240

interface JsonViewProps {
  readonly value: unknown
  /** Names the value for copying and downloading. */
  readonly name: string
  /** Without tools, for small places. */
  readonly isBare?: boolean
}

export function JsonView({ value, name, isBare = false }: JsonViewProps) {
  if (typeof value === "string") return <LongText text={value} name={name} isBare={isBare} />
  if (typeof value !== "object" || value === null) {
    return <code className={styles.scalar}>{value === undefined ? "–" : JSON.stringify(value)}</code>
  }
  return <Tree key={name} value={value} name={name} isBare={isBare} />
}

function Tree({ value, name, isBare }: Required<JsonViewProps>) {
  const [state, setState] = useState<TreeState>(() => ({ open: firstOpen(value), shown: new Map() }))
  const [query, setQuery] = useState("")
  const results = useMemo(() => (query === "" ? undefined : search(value, query)), [value, query])
  const shown = results?.state ?? state
  const rows = useMemo(() => rowsOf(value, shown), [value, shown])
  const [active, setActive] = useState("")
  const list = useRef<HTMLDivElement>(null)
  const toggle = (path: string, isOpen: boolean) => {
    setState(({ open, shown }) => {
      const next = new Set(open)
      if (isOpen) next.delete(path)
      else next.add(path)
      return { open: next, shown }
    })
  }
  const showMore = (row: TreeRow) => {
    const parent = row.path.slice(0, -2)
    setState(({ open, shown }) => ({
      open,
      shown: new Map(shown).set(parent, (shown.get(parent) ?? PAGE) + 10 * PAGE),
    }))
  }
  const onKey = (event: KeyboardEvent) => {
    const at = rows.findIndex(({ path }) => path === active)
    const row = rows[at]
    let to = at
    if (event.key === "ArrowDown") to = Math.min(rows.length - 1, at + 1)
    else if (event.key === "ArrowUp") to = Math.max(0, at - 1)
    else if (event.key === "ArrowRight" && row !== undefined && row.size !== undefined && !row.isOpen)
      toggle(row.path, false)
    else if (event.key === "ArrowLeft" && row?.isOpen) toggle(row.path, true)
    else if (event.key === "Enter" && row?.more !== undefined) showMore(row)
    else return
    event.preventDefault()
    event.stopPropagation()
    const next = rows[to]
    if (next === undefined) return
    setActive(next.path)
    list.current?.children[to]?.scrollIntoView({ block: "nearest" })
  }
  const text = () => JSON.stringify(value, undefined, 2)
  const isLarge = query !== "" || rows.length > 12 || rows.some(({ size = 0, isOpen }) => size > 0 && !isOpen)
  return (
    <div className={styles.view}>
      {!isBare && (
        <div className={styles.tools} data-small={!isLarge || undefined}>
          {isLarge && (
            <SearchInput
              label={`Search in ${name}`}
              placeholder="Search keys and values"
              value={query}
              onInput={(event) => setQuery(event.currentTarget.value)}
            />
          )}
          {results !== undefined && <span className={styles.found}>{count(results.found.size)} found</span>}
          <Copy what={name} text={text} />
          <IconButton
            icon="download"
            label={`Download ${name}`}
            onClick={() => download(`${name}.json`, text())}
          />
        </div>
      )}
      <div ref={list} role="tree" aria-label={name} tabIndex={0} className={styles.tree} onKeyDown={onKey}>
        {rows.slice(0, MAX_ROWS).map((row) => (
          <Row
            key={row.path}
            row={row}
            isActive={row.path === active}
            isFound={results?.found.has(row.path) ?? false}
            onToggle={() => (row.more === undefined ? toggle(row.path, row.isOpen) : showMore(row))}
          />
        ))}
      </div>
      {rows.length > MAX_ROWS && (
        <p className={styles.note}>
          {count(rows.length - MAX_ROWS)} more rows are open. Search, or download the value.
        </p>
      )}
    </div>
  )
}

interface RowProps {
  readonly row: TreeRow
  readonly isActive: boolean
  readonly isFound: boolean
  readonly onToggle: () => void
}

function Row({ row, isActive, isFound, onToggle }: RowProps) {
  const { key, value, depth, size, isOpen, more } = row
  const canToggle = more !== undefined || (size !== undefined && size > 0)
  return (
    <div
      role="treeitem"
      aria-level={depth + 1}
      aria-expanded={canToggle ? isOpen : undefined}
      aria-selected={isActive}
      className={`${styles.row} ${isActive ? styles.active : ""} ${isFound ? styles.hit : ""}`}
      style={{ paddingLeft: 4 + depth * 14 }}
      onClick={canToggle ? onToggle : undefined}
    >
      <span className={styles.twist}>{canToggle && more === undefined ? (isOpen ? "▾" : "▸") : ""}</span>
      {key !== undefined && <span className={styles.key}>{key}</span>}
      {more === undefined ? (
        <Value value={value} size={size} isOpen={isOpen} />
      ) : (
        <span className={styles.more}>{count(more)} more…</span>
      )}
    </div>
  )
}

function Value({
  value,
  size,
  isOpen,
}: {
  readonly value: unknown
  readonly size: number | undefined
  readonly isOpen: boolean
}) {
  if (size !== undefined) {
    const [open, close] = Array.isArray(value) ? "[]" : "{}"
    if (size === 0) return <span className={styles.dim}>{`${open}${close}`}</span>
    return isOpen ? null : (
      <span className={styles.dim}>
        {open} {count(size)} {close}
      </span>
    )
  }
  if (typeof value !== "string") return <span className={styles.literal}>{String(value)}</span>
  const isLong = value.length > LONG_TEXT
  return (
    <span className={styles.text}>
      {isLong ? `${value.slice(0, LONG_TEXT)}…` : value}
      {isLong && <span className={styles.dim}> ({bytes(value.length)})</span>}
    </span>
  )
}

/** Prose, as it is written; a very long one is cut until it is asked for. */
function LongText({
  text,
  name,
  isBare,
}: {
  readonly text: string
  readonly name: string
  readonly isBare: boolean
}) {
  const [isWhole, setWhole] = useState(false)
  const limit = 4_000
  const isCut = text.length > limit && !isWhole
  return (
    <div className={styles.view}>
      <div className={styles.prose}>
        {isCut ? (
          `${text.slice(0, limit)}…`
        ) : text === "" ? (
          <span className={styles.dim}>empty text</span>
        ) : (
          text
        )}
      </div>
      {(text.length > limit || (!isBare && text.length > SHORT_TEXT)) && (
        <div className={styles.tools}>
          {isCut && (
            <button type="button" className={styles.link} onClick={() => setWhole(true)}>
              Show all {bytes(text.length)}
            </button>
          )}
          <Copy what={name} text={() => text} />
          <IconButton
            icon="download"
            label={`Download ${name}`}
            onClick={() => download(`${name}.txt`, text, "text/plain")}
          />
        </div>
      )}
    </div>
  )
}
