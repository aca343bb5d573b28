import { useState } from 'preact/hooks';
import { fieldText, fromField } from '../figures/times.js';
import { now } from '../state/live.js';
import { t } from '../words/language.js';

type TimeRange = { readonly from?: string | undefined; readonly to?: string | undefined };

const HOUR = 3_600_000;
const LENGTHS = { Hour: HOUR, Day: 24 * HOUR, Week: 7 * 24 * HOUR } as const;
const NAMES = Object.keys(LENGTHS) as (keyof typeof LENGTHS)[];

/** From when to when: the usual ranges, or any by the viewer's clock; the values are ISO strings. */
export function TimeFields({
  from,
  to,
  direction,
  onChange,
}: TimeRange & {
  /** Whether the list is of what is to come, or of what was. */
  readonly direction: 'next' | 'last';
  readonly onChange: (changed: TimeRange) => void;
}) {
  const [isOpen, setOpen] = useState(false);
  const isCustom = isOpen || from !== undefined || to !== undefined;
  const choose = (chosen: string) => {
    setOpen(chosen === 'custom');
    if (chosen === 'custom') return;
    const length = LENGTHS[chosen as keyof typeof LENGTHS] as number | undefined;
    const end = (by: number) => new Date(now.peek() + by).toISOString();
    if (length === undefined) onChange({ from: undefined, to: undefined });
    else if (direction === 'next') onChange({ from: undefined, to: end(length) });
    else onChange({ from: end(-length), to: undefined });
  };
  return (
    <span class="fields">
      <select
        aria-label={t('range')}
        value={isCustom ? 'custom' : 'any'}
        onChange={({ currentTarget }) => choose(currentTarget.value)}
      >
        <option value="any">{t('range.any')}</option>
        {NAMES.map((name) => (
          <option key={name} value={name}>
            {t(`range.${direction}${name}`)}
          </option>
        ))}
        <option value="custom">{t('range.custom')}</option>
      </select>
      {isCustom && (
        <>
          <Field label={t('timeline.from')} value={from} onChange={(each) => onChange({ from: each })} />
          <Field label={t('timeline.to')} value={to} onChange={(each) => onChange({ to: each })} />
        </>
      )}
    </span>
  );
}

function Field({
  label,
  value,
  onChange,
}: {
  readonly label: string;
  readonly value: string | undefined;
  readonly onChange: (iso: string | undefined) => void;
}) {
  return (
    <label class="field">
      <span>{label}</span>
      <input
        type="datetime-local"
        step={1}
        value={fieldText(value)}
        onChange={({ currentTarget }) => onChange(fromField(currentTarget.value))}
      />
    </label>
  );
}
