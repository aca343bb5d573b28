import type { ComponentChildren } from 'preact';
import { t } from '../words/language.js';
import { fullTime, time } from '../words/say.js';

/** Values that may have changed: dimmed, with their age. `asOf` is absent for those that are fresh. */
export function Old({
  asOf,
  children,
}: {
  readonly asOf: string | undefined;
  readonly children: ComponentChildren;
}) {
  if (asOf === undefined) return <>{children}</>;
  return (
    <span class="old" title={t('status.asOf', { time: fullTime(Date.parse(asOf)) })}>
      {children}
    </span>
  );
}

/** When the values of a card were read, if they may have changed. */
export function AsOf({ at }: { readonly at: string | undefined }) {
  if (at === undefined) return null;
  return (
    <span class="faint small" title={fullTime(Date.parse(at))}>
      {t('status.asOf', { time: time(Date.parse(at)) })}
    </span>
  );
}
