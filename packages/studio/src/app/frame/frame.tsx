/** What is around every screen: the rail with the destinations, the bar with the title, and the palette. */
import { type ReactNode, useEffect, useState } from "react"
import { Link, useLocation } from "wouter"
import { useIsAnswering } from "../api/connection.ts"
import { useMe, useOpenRequests } from "../api/queries.ts"
import { signOut } from "../api/session.ts"
import { IconButton } from "../ui/button.tsx"
import { Icon } from "../ui/icon.tsx"
import { Toasts } from "../ui/toast.tsx"
import { DESTINATIONS, type Destination } from "./destinations.ts"
import styles from "./frame.module.css"
import { Palette } from "./palette.tsx"
import { switchTheme } from "./theme.ts"

export function Frame({ children }: { readonly children: ReactNode }) {
  const [isPaletteOpen, setPaletteOpen] = useState(false)
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() !== "k" || !(event.metaKey || event.ctrlKey)) return
      event.preventDefault()
      setPaletteOpen((isOpen) => !isOpen)
    }
    const open = () => setPaletteOpen(true)
    window.addEventListener("keydown", onKey)
    window.addEventListener("superstep:palette", open)
    return () => {
      window.removeEventListener("keydown", onKey)
      window.removeEventListener("superstep:palette", open)
    }
  }, [])
  return (
    <div className={styles.frame}>
      <a className={styles.skip} href="#main">
        Skip to the content
      </a>
      <Rail />
      <main id="main" className={styles.main} tabIndex={-1}>
        {children}
      </main>
      {isPaletteOpen && <Palette onClose={() => setPaletteOpen(false)} />}
      <Toasts />
      <Connection />
    </div>
  )
}

/** It covers an empty part of the bar: nothing on the page moves when the server goes or comes back. */
function Connection() {
  const isAnswering = useIsAnswering()
  return (
    <div className={styles.connection} role="status">
      {!isAnswering && (
        <p>
          <Icon name="alert" size={14} /> The server does not answer. This page continues by itself when it is
          back.
        </p>
      )}
    </div>
  )
}

function Rail() {
  const [path] = useLocation()
  const { data: open = [] } = useOpenRequests(5_000)
  return (
    <nav className={styles.rail} aria-label="Studio">
      <Link href="/" className={styles.mark} aria-label="Superstep, home">
        <svg aria-hidden="true" width="22" height="22" viewBox="0 0 32 32">
          <rect width="32" height="32" rx="7" className={styles.tile} />
          <g fill="#fff">
            <rect x="6" y="19" width="6" height="7" rx="1.5" />
            <rect x="13" y="13" width="6" height="13" rx="1.5" opacity=".85" />
            <rect x="20" y="6" width="6" height="20" rx="1.5" opacity=".7" />
          </g>
        </svg>
      </Link>
      {DESTINATIONS.map((destination) => (
        <RailLink
          key={destination.href}
          destination={destination}
          isHere={destination.href === "/" ? path === "/" : path.startsWith(destination.href)}
          badge={destination.href === "/inbox" ? open.length : 0}
        />
      ))}
    </nav>
  )
}

function RailLink({
  destination,
  isHere,
  badge,
}: {
  readonly destination: Destination
  readonly isHere: boolean
  readonly badge: number
}) {
  return (
    <Link
      href={destination.href}
      className={styles.destination}
      aria-current={isHere ? "page" : undefined}
      aria-label={badge > 0 ? `${destination.name}, ${badge} open` : destination.name}
      title={destination.name}
      data-end={destination.isLast || undefined}
    >
      <Icon name={destination.icon} size={18} />
      <span className={styles.name}>{destination.name}</span>
      {badge > 0 && <span className={styles.badge}>{badge > 99 ? "99+" : badge}</span>}
    </Link>
  )
}

interface BarProps {
  /** From the outermost destination to this one: a name, and its address unless it is this page. */
  readonly trail: readonly { readonly name: string; readonly href?: string }[]
  /** Beside the title, such as a status. */
  readonly aside?: ReactNode
  readonly children?: ReactNode
}

/** The bar of a screen: where you are, and what you can do. */
export function Bar({ trail, aside, children }: BarProps) {
  const { data: me } = useMe()
  const title = trail.at(-1)?.name ?? ""
  useEffect(() => {
    document.title = `${title} · Superstep`
  }, [title])
  return (
    <header className={styles.bar}>
      <div className={styles.trail}>
        {trail.slice(0, -1).map(({ name, href = "/" }) => (
          <span key={href} className={styles.step}>
            <Link href={href}>{name}</Link>
            <Icon name="right" size={12} />
          </span>
        ))}
        <h1 className={styles.title} title={title}>
          {title}
        </h1>
        {aside}
      </div>
      <div className={styles.actions}>
        {children}
        <IconButton
          icon="search"
          label="Search and commands (⌘K or Ctrl+K)"
          onClick={() => window.dispatchEvent(new Event("superstep:palette"))}
        />
        <span className={styles.theme}>
          <IconButton icon="theme" label="Switch between light and dark" onClick={switchTheme} />
        </span>
        {me?.authenticated === true && (
          <IconButton icon="lock" label={`Sign out ${me.id}`} onClick={signOut} />
        )}
      </div>
    </header>
  )
}
