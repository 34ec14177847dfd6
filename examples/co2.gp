# Draws what co2_forecaster wrote: gnuplot -e "dir='build/demo'" examples/co2.gp makes co2.png and co2.svg in dir.
set encoding utf8
grey = '#9aa0a6'; orange = '#d55e00'; blue = '#0072b2'; green = '#009e73'
do for [kind in 'png svg'] {
  if (kind eq 'png') { set terminal pngcairo size 1200,900 font 'DejaVu Sans,11' }
  if (kind eq 'svg') { set terminal svg size 1200,900 font 'DejaVu Sans,11' background 'white' }
  set output dir.'/co2.'.kind
  set multiplot
  set grid lc rgb '#e4e6e8'
  set border 3
  set tics nomirror out

  set origin 0,0.48
  set size 1,0.52
  set title 'Weekly CO₂ at Mauna Loa: five years forecast 52 weeks ahead, and the year after the data'
  set xlabel 'year'
  set format x '%.0f'
  set xtics 1
  set ylabel 'CO₂, ppm'
  set key top left reverse Left
  plot dir.'/data.txt' using 1:2 with lines lw 1.5 lc rgb grey title 'measured', \
       dir.'/forecast.txt' using 1:2 with points pt 7 ps 0.6 lc rgb orange title 'GRU, 52 weeks before', \
       dir.'/forecast.txt' using 1:3 with points pt 6 ps 0.6 lc rgb blue title 'last year + drift, 52 weeks before', \
       dir.'/next.txt' using 1:2 with lines lw 2 lc rgb orange title 'GRU, the year to come'

  set origin 0,0
  set size 0.5,0.48
  set title 'Error by horizon over those five years'
  set xlabel 'weeks ahead'
  set format x
  set xtics autofreq
  set ylabel 'RMSE, ppm'
  set xrange [0:52]
  set yrange [0:2]
  set key bottom right noreverse Right
  plot dir.'/errors.txt' using 1:2 with lines lw 2 lc rgb orange title 'GRU', \
       dir.'/errors.txt' using 1:4 with lines lw 2 lc rgb blue title 'last year + drift', \
       dir.'/errors.txt' using 1:3 with lines lw 2 lc rgb grey title 'persistence (4.2 in mid-season)'
  set xrange [*:*]

  set origin 0.5,0
  set title 'Training'
  set xlabel 'step'
  set ylabel 'mean square, scaled; RMSE, ppm'
  set yrange [0.5:1.3]
  set key top right
  plot dir.'/loss.txt' using 1:2 with lines lc rgb grey title 'loss of a batch, in both trainings', \
       dir.'/choice.txt' using 1:2 with linespoints pt 7 ps 0.5 lw 2 lc rgb green title 'RMSE on the years before the test'
  set yrange [*:*]
  unset multiplot
  unset output
}
