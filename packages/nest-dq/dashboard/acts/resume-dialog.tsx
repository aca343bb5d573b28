import { useState } from 'preact/hooks';
import { Dialog } from '../parts/dialog.js';
import { showDialog } from '../state/dialog.js';
import { now } from '../state/live.js';
import { t } from '../words/language.js';
import { count, time } from '../words/say.js';
import { askBulk } from './bulk-dialog.js';
import { ConfirmForm, useConfirming } from './confirming.js';
import { readMost } from './most.js';
import { tryAct } from './one.js';

/** Asks whether the overdue jobs are to run at once or gradually, and resumes the tube. */
export function askResume(tube: string, overdue: number | undefined, after: () => void): void {
  showDialog(<ResumeDialog tube={tube} overdue={overdue} after={after} />);
}

/** Time in which it has caught up by default. */
const MINUTES = 20;

function ResumeDialog({
  tube,
  overdue,
  after,
}: {
  readonly tube: string;
  /** Undefined if unknown. */
  readonly overdue: number | undefined;
  readonly after: () => void;
}) {
  const [how, setHow] = useState<'atOnce' | 'gradually'>('gradually');
  const [text, setText] = useState(
    overdue === undefined ? '' : String(Math.max(1, Math.ceil(overdue / MINUTES))),
  );
  const isGradual = how === 'gradually';
  const confirming = useConfirming(isGradual ? 'resumeGradually' : 'resume');
  const perMinute = readMost(text);
  const isKnown = perMinute !== undefined && !Number.isNaN(perMinute);
  const end = isKnown && overdue !== undefined ? now.value + (overdue / perMinute) * 60_000 : undefined;
  return (
    <Dialog title={t('resume.title', { tube })}>
      <p>{t('resume.text', { overdue: count(overdue) })}</p>
      <ConfirmForm
        confirming={confirming}
        label={t(isGradual ? 'resume.go' : 'act.resume')}
        disabled={isGradual && !isKnown}
        work={async () => {
          if (!isGradual) return tryAct('resume', { tube }, after);
          askBulk([{ name: 'resumeGradually', body: { tube, perMinute: perMinute! } }], after);
          return undefined;
        }}
      >
        <label>
          <span>{t('resume.how')}</span>
          <select value={how} onChange={({ currentTarget }) => setHow(currentTarget.value as typeof how)}>
            <option value="gradually">{t('resume.gradually')}</option>
            <option value="atOnce">{t('resume.atOnce')}</option>
          </select>
        </label>
        {isGradual && (
          <label>
            <span>{t('resume.perMinute')}</span>
            <input
              type="number"
              min={1}
              step={1}
              value={text}
              aria-invalid={!isKnown}
              onInput={({ currentTarget }) =>
                setText(currentTarget.validity.badInput ? 'bad' : currentTarget.value)
              }
            />
          </label>
        )}
        <p class="faint" role="status">
          {isGradual && end !== undefined && t('resume.end', { time: time(end) })}
        </p>
      </ConfirmForm>
    </Dialog>
  );
}
