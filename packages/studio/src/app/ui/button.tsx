/** What people press: a button with a verb, or only an icon with a name for it; a link that looks like a button. */
import type { ButtonHTMLAttributes, ReactNode } from "react"
import { Link } from "wouter"
import styles from "./button.module.css"
import { focus } from "./field.tsx"
import { Icon, type IconName } from "./icon.tsx"

type Look = "plain" | "primary" | "quiet" | "danger"

interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  readonly look?: Look
  readonly icon?: IconName
  readonly isBusy?: boolean
}

export function Button({ look = "plain", icon, isBusy = false, children, disabled, ...rest }: ButtonProps) {
  return (
    <button
      type="button"
      {...rest}
      ref={rest.autoFocus ? focus : undefined}
      className={`${styles.button} ${styles[look]} ${rest.className ?? ""}`}
      disabled={disabled === true || isBusy}
      aria-busy={isBusy || undefined}
    >
      {icon !== undefined && <Icon name={icon} />}
      {children !== undefined && <span>{children}</span>}
    </button>
  )
}

interface IconButtonProps extends Omit<ButtonProps, "children" | "icon"> {
  readonly icon: IconName
  /** What it does; also its tooltip. */
  readonly label: string
}

export function IconButton({ icon, label, look = "quiet", ...rest }: IconButtonProps) {
  return (
    <Button {...rest} look={look} icon={icon} aria-label={label} title={label} className={styles.square} />
  )
}

interface LinkButtonProps {
  readonly href: string
  readonly look?: Look
  readonly icon?: IconName
  readonly children: ReactNode
}

export function LinkButton({ href, look = "plain", icon, children }: LinkButtonProps) {
  return (
    <Link href={href} className={`${styles.button} ${styles[look]}`}>
      {icon !== undefined && <Icon name={icon} />}
      <span>{children}</span>
    </Link>
  )
}
