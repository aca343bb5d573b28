import type { ComponentChildren } from 'preact';
import { count } from '../words/say.js';
import { Old } from './old.js';

/** A number that is read at a glance. */
export interface Figure {
  readonly name: string;
  /** Undefined if it is unknown. */
  readonly value: number | string | undefined;
  readonly tone?: 'bad' | 'warn' | undefined;
  /** Address of the things counted. */
  readonly href?: string | undefined;
  /** A smaller line below. */
  readonly note?: ComponentChildren;
  /** Since when it is known, if it may have changed. */
  readonly asOf?: string | undefined;
}

/** Numbers side by side. One that is zero stands back, and one that is a problem stands out. */
export function Figures({ figures }: { readonly figures: readonly Figure[] }) {
  return (
    <dl class="figures">
      {figures.map(({ name, value, tone, href, note, asOf }) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>
            <Old asOf={asOf}>
              <span class={`figure ${isNothing(value) ? 'zero' : (tone ?? '')}`}>
                {href !== undefined && !isNothing(value) ? <a href={href}>{textOf(value)}</a> : textOf(value)}
              </span>
              {note && <span class="faint small">{note}</span>}
            </Old>
          </dd>
        </div>
      ))}
    </dl>
  );
}

function isNothing(value: Figure['value']): boolean {
  return value === undefined || value === 0 || value === '–' || value === '0';
}

function textOf(value: Figure['value']): string {
  return typeof value === 'string' ? value : count(value);
}
