import { useId, useState } from 'preact/hooks';
import type { JobRefWire, NewTimeWire, WaitingFilterWire } from '../../src/dashboard/wire.js';
import { Dialog } from '../parts/dialog.js';
import { closeDialog, showDialog } from '../state/dialog.js';
import { now } from '../state/live.js';
import { t } from '../words/language.js';
import { askBulk } from './bulk-dialog.js';
import { newTimeOf, type NewTimeKind } from './new-time.js';
import { doAct } from './one.js';
import { titleOf } from './titles.js';

/** Asks when jobs are to run. */
function NewTimeForm({
  kinds,
  onSubmit,
}: {
  readonly kinds: readonly NewTimeKind[];
  readonly onSubmit: (when: NewTimeWire) => void;
}) {
  const [kind, setKind] = useState<NewTimeKind>(kinds[0]!);
  const [text, setText] = useState('');
  const { when, problem } = newTimeOf(kind, text, now.value);
  const id = useId();
  const aria = { 'aria-invalid': problem !== undefined, 'aria-describedby': id };
  return (
    <form
      class="form"
      onSubmit={(event) => {
        event.preventDefault();
        if (when) onSubmit(when);
      }}
    >
      <label>
        <span>{t('move.how')}</span>
        <select
          value={kind}
          onChange={({ currentTarget }) => {
            setKind(currentTarget.value as NewTimeKind);
            setText('');
          }}
        >
          {kinds.map((each) => (
            <option key={each} value={each}>
              {t(`move.${each}`)}
            </option>
          ))}
        </select>
      </label>
      <label>
        <span>{t(kind === 'at' ? 'move.time' : 'move.duration')}</span>
        {kind === 'at' ? (
          <input
            type="datetime-local"
            step={1}
            {...aria}
            onInput={({ currentTarget }) => setText(currentTarget.value)}
          />
        ) : (
          <input
            type="text"
            placeholder="90m"
            value={text}
            {...aria}
            onInput={({ currentTarget }) => setText(currentTarget.value)}
          />
        )}
      </label>
      <p id={id} class="hint" role="status">
        {problem && t(problem)}
      </p>
      <div class="buttons">
        <button type="button" class="button" onClick={closeDialog}>
          {t('act.cancel')}
        </button>
        <button class="button main" disabled={!when}>
          {t('act.move')}
        </button>
      </div>
    </form>
  );
}

/** Asks for the new time of one job, and moves it. */
export function moveOne(job: JobRefWire, title: string, after: () => void): void {
  const onSubmit = (when: NewTimeWire) => {
    closeDialog();
    if ('at' in when || 'delay' in when) void doAct('reschedule', { ...job, ...when }, after);
  };
  showDialog(
    <Dialog title={title}>
      <NewTimeForm kinds={['delay', 'at']} onSubmit={onSubmit} />
    </Dialog>,
  );
}

/** Asks for the new time of many, counts them, and moves them. */
export function moveMany(tube: string, filter: WaitingFilterWire, after: () => void): void {
  showDialog(
    <Dialog title={titleOf([{ name: 'rescheduleMany', body: { tube, filter, when: { later: '' } } }])}>
      <NewTimeForm
        kinds={['later', 'earlier', 'delay', 'at']}
        onSubmit={(when) => askBulk([{ name: 'rescheduleMany', body: { tube, filter, when } }], after)}
      />
    </Dialog>,
  );
}
