import { useId, useState } from 'preact/hooks';
import type { JobRefWire, NewTimeWire, WaitingFilterWire } from '../../src/dashboard/wire.js';
import { Dialog } from '../parts/dialog.js';
import { act } from '../server/requests.js';
import { showDialog } from '../state/dialog.js';
import { now } from '../state/live.js';
import { t } from '../words/language.js';
import { fromNow, time } from '../words/say.js';
import { askBulk } from './bulk-dialog.js';
import { ConfirmForm, useConfirming } from './confirming.js';
import { actOnEach } from './each.js';
import { durationMs, newTimeOf, type NewTimeKind } from './new-time.js';
import { tryAct } from './one.js';
import { titleOf } from './titles.js';

/** Asks when jobs are to run. */
function NewTimeForm({
  act,
  kinds,
  work,
}: {
  readonly act: 'reschedule' | 'rescheduleMany';
  readonly kinds: readonly NewTimeKind[];
  readonly work: (when: NewTimeWire) => Promise<Error | undefined>;
}) {
  const confirming = useConfirming(act);
  const [kind, setKind] = useState<NewTimeKind>(kinds[0]!);
  const [text, setText] = useState('');
  const { when, problem } = newTimeOf(kind, text, now.value);
  const id = useId();
  const aria = { 'aria-invalid': problem !== undefined, 'aria-describedby': id };
  return (
    <ConfirmForm confirming={confirming} label={t('act.move')} disabled={!when} work={() => work(when!)}>
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
        {problem ? t(problem) : when && dueText(when, text)}
      </p>
    </ConfirmForm>
  );
}

/** When one job is due, or all of many; undefined if each has its own time. */
function dueText(when: NewTimeWire, text: string): string | undefined {
  if (!('delay' in when || 'at' in when)) return undefined;
  const at = 'at' in when ? Date.parse(when.at) : now.value + durationMs(text);
  return t('move.due', { time: time(at), fromNow: fromNow(at) });
}

/** Asks for the new time of one job, and moves it. */
export function moveOne(job: JobRefWire, title: string, after: () => void): void {
  askForTime(title, (when) => tryAct('reschedule', { ...job, ...when }, after));
}

/** Asks for the new time of chosen jobs, and moves them one after the other. */
export function moveChosen(jobs: readonly JobRefWire[], title: string, after: () => void): void {
  askForTime(title, async (when) => {
    await actOnEach(jobs, (job) => act('reschedule', { ...job, ...when }), after);
    return undefined;
  });
}

/** A new time that needs no other jobs, and not the one before. */
type OwnTime = Extract<NewTimeWire, { readonly at: string } | { readonly delay: string }>;

function askForTime(title: string, work: (when: OwnTime) => Promise<Error | undefined>): void {
  showDialog(
    <Dialog title={title}>
      <NewTimeForm
        act="reschedule"
        kinds={['delay', 'at']}
        work={async (when) => ('at' in when || 'delay' in when ? work(when) : undefined)}
      />
    </Dialog>,
  );
}

/** Asks for the new time of many of one tube or of several, counts them, and moves them. */
export function moveMany(tubes: readonly string[], filter: WaitingFilterWire, after: () => void): void {
  const acts = (when: NewTimeWire) =>
    tubes.map((tube) => ({ name: 'rescheduleMany' as const, body: { tube, filter, when } }));
  showDialog(
    <Dialog title={titleOf(acts({ later: '' }))}>
      <NewTimeForm
        act="rescheduleMany"
        kinds={['later', 'earlier', 'delay', 'at', 'spread']}
        work={async (when) => {
          askBulk(acts(when), after);
          return undefined;
        }}
      />
    </Dialog>,
  );
}
