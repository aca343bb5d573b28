import { signal } from '@preact/signals';

/** Whether the names of the pages are shown on a phone, where they are behind a button. */
export const isMenuOpen = signal(false);
export const MENU_ID = 'menu';
