import { t } from '../words/language.js';
import { Choice } from './choice.js';

const LENGTHS = {
  hour: 3_600_000,
  sixHours: 6 * 3_600_000,
  day: 86_400_000,
  twoDays: 2 * 86_400_000,
} as const;
const NAMES = ['hour', 'sixHours', 'day', 'twoDays'] as const;

/** A time range of the history, by its name in the address. */
export function historySpan(span: string | undefined): {
  readonly name: (typeof NAMES)[number];
  /** In ms. */
  readonly length: number;
} {
  const name = NAMES.find((each) => each === span) ?? 'sixHours';
  return { name, length: LENGTHS[name] };
}

/** Chooses one of them. */
export function HistorySpan({
  value,
  onChange,
}: {
  readonly value: (typeof NAMES)[number];
  readonly onChange: (name: (typeof NAMES)[number]) => void;
}) {
  return (
    <Choice
      label={t('timeline.span')}
      value={value}
      options={NAMES.map((each) => ({ value: each, name: t(`history.span.${each}`) }))}
      onChange={onChange}
    />
  );
}
