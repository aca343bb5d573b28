import type { ComponentChildren } from 'preact';

/** A state in a word, with a colour beside it. */
export function Badge({
  tone,
  children,
}: {
  readonly tone: 'good' | 'bad' | 'warn' | 'calm' | 'accent';
  readonly children: ComponentChildren;
}) {
  return <span class={`badge ${tone}`}>{children}</span>;
}
