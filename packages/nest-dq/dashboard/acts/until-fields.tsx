import { useState } from 'preact/hooks';
import { now } from '../state/live.js';
import { t } from '../words/language.js';
import { pauseUntil, type PauseEnd } from './pause-end.js';

/** How long an act lasts, as chosen in its dialog. */
export interface UntilChoice {
  readonly end: PauseEnd;
  /** Value of the time field. */
  readonly field: string;
  readonly choose: (end: PauseEnd) => void;
  readonly type: (field: string) => void;
  /** See `pauseUntil`. */
  readonly until: () => ReturnType<typeof pauseUntil>;
}

export function useUntil(initial: PauseEnd): UntilChoice {
  const [end, choose] = useState<PauseEnd>(initial);
  const [field, type] = useState('');
  return { end, field, choose, type, until: () => pauseUntil(end, field, now.peek()) };
}

/** Fields to choose it. */
export function UntilFields({
  choice: { end, field, choose, type },
  ends,
  resumed,
}: {
  readonly choice: UntilChoice;
  readonly ends: readonly PauseEnd[];
  /** Name of the choice that has no end. */
  readonly resumed: string;
}) {
  return (
    <>
      <label>
        <span>{t('pause.end')}</span>
        <select value={end} onChange={({ currentTarget }) => choose(ends[currentTarget.selectedIndex]!)}>
          {ends.map((each) => (
            <option key={each} value={each}>
              {each === 'resumed' ? resumed : t(`pause.${each}`)}
            </option>
          ))}
        </select>
      </label>
      {end === 'at' && (
        <label>
          <span>{t('move.time')}</span>
          <input
            type="datetime-local"
            step={1}
            value={field}
            onInput={({ currentTarget }) => type(currentTarget.value)}
          />
        </label>
      )}
    </>
  );
}
