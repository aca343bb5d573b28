import { effect, signal } from '@preact/signals';
import { zone } from '../figures/zone.js';

// The viewer's settings, kept in this browser.

export const THEMES = ['system', 'light', 'dark'] as const;
export type Theme = (typeof THEMES)[number];
/** Whether single keys are shortcuts: speech input and other tools press keys of their own. */
const SHORTCUTS = ['on', 'off'] as const;
const ZONES = ['browser', 'utc'] as const;

export const theme = signal(stored('theme', THEMES));
export const shortcuts = signal(stored('shortcuts', SHORTCUTS));
zone.value = stored('zone', ZONES);

effect(() => {
  document.documentElement.dataset['theme'] = theme.value;
  localStorage.setItem('nest-dq.theme', theme.value);
});
effect(() => localStorage.setItem('nest-dq.zone', zone.value));
effect(() => localStorage.setItem('nest-dq.shortcuts', shortcuts.value));

/** The stored choice, or the first one. */
function stored<Choice extends string>(name: string, choices: readonly [Choice, ...Choice[]]): Choice {
  const text = localStorage.getItem(`nest-dq.${name}`);
  return choices.find((each) => each === text) ?? choices[0];
}
