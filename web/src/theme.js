// Light, dark, or as the system has it. Remembered where the browser lets a file remember.
const THEMES = ['auto', 'light', 'dark'];
const TITLES = { auto: 'Theme: as the system', light: 'Theme: light', dark: 'Theme: dark' };
const KEY = 'hbbp-theme';

function remembered() {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null;
  }
}

function remember(theme) {
  try {
    localStorage.setItem(KEY, theme);
  } catch {
    // Then it is for this time only.
  }
}

export function setUpTheme(button) {
  let theme = THEMES.includes(remembered()) ? remembered() : 'auto';
  const show = () => {
    document.documentElement.dataset.theme = theme;
    button.textContent = TITLES[theme];
  };
  button.addEventListener('click', () => {
    theme = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
    remember(theme);
    show();
  });
  show();
}
